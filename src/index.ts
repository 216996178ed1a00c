export { type ErrorCode, errorCodes, LbctlError } from './core/model/errors.js';
export type { Instance } from './core/model/instance.js';
