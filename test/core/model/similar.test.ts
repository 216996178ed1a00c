import { expect, test } from 'vitest';
import { similarNames } from '../../../src/core/model/similar.js';

test.each([
  ['user.rcp', ['user.rpc', 'order.rpc'], ['user.rpc']],
  ['lst', ['list', 'watch'], ['list']],
  ['user', ['user.rpc', 'order.rpc', 'api/user'], ['user.rpc', 'api/user']],
  ['USER.RPC', ['user.rpc'], ['user.rpc']],
  ['payment', ['user.rpc', 'order.rpc'], []],
  ['x', ['a', 'b'], ['a', 'b']],
])('%j among %j suggests %j', (wanted, candidates, expected) => {
  expect(similarNames(wanted, candidates)).toEqual(expected);
});

test('at most three are named', () => {
  expect(similarNames('user', ['user1', 'user2', 'user3', 'user4'])).toEqual(['user1', 'user2', 'user3']);
});
