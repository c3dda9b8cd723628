#!/usr/bin/env node
// The command `beaver` of the published package. It is written in words that an old Node.js reads, so that it
// can say what is wrong: some of them know no `node:`.
/* oxlint-disable unicorn/prefer-node-protocol */
import { homedir } from 'os'
import { join } from 'path'

if (Number(process.versions.node.split('.')[0]) < 24) {
  process.stderr.write(
    'Beaver needs Node.js 24 or newer, and this is ' +
      process.version +
      '. Install a newer Node.js from https://nodejs.org and run the command again.\n',
  )
  process.exitCode = 3
} else {
  // The processes that this one starts use the same cache.
  if (process.env.NODE_COMPILE_CACHE === undefined)
    process.env.NODE_COMPILE_CACHE = join(
      process.env.XDG_CACHE_HOME || join(homedir(), '.cache'),
      'beaver',
      'compile',
    )
  import('module')
    .then(function (module) {
      module.enableCompileCache(process.env.NODE_COMPILE_CACHE)
      return import('../apps/cli/dist/main.js')
    })
    .catch(function (error) {
      process.stderr.write(String((error && error.stack) || error) + '\n')
      process.exitCode = 1
    })
}
