// Loaded into lbctl's process with NODE_OPTIONS: what a machine does that is out of something. BROKEN names it.
const { syncBuiltinESMExports } = require('node:module');

if (process.env.BROKEN === 'hostname') {
  require('node:os').hostname = () => {
    throw new Error('uv_os_gethostname returned ENOMEM');
  };
}
if (process.env.BROKEN === 'spawn') {
  require('node:child_process').spawn = () => {
    throw Object.assign(new Error('spawn ENOMEM'), { errno: -12, code: 'ENOMEM', syscall: 'spawn' });
  };
}
syncBuiltinESMExports();
