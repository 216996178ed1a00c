/**
 * Instances that lbctl did not register, taken out and put back: real servers, real clients, a real etcd. Most of it is
 * waiting, so all of it runs at once.
 */
import { describe } from 'vitest';
import { cutOff } from './cases/cut-off.js';
import { deletedKeys } from './cases/delete.js';
import { maskedByTheirRules } from './cases/kratos-naming.js';
import { maskedServers } from './cases/mask.js';
import { olderClients } from './cases/older-clients.js';
import { maskedInOutages } from './cases/outages.js';
import { interop } from './support/programs.js';

interop('taking out', () => {
  describe.concurrent('at once', () => {
    maskedServers();
    maskedInOutages();
    deletedKeys();
    maskedByTheirRules();
    olderClients();
    cutOff();
  });
});
