// Checks the machine: Node.js, the nats-server binary, disk, ports.
import { existsSync } from 'node:fs'
import { access, constants, statfs } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname } from 'node:path'
import { BeaverError, messageOf } from '@beaver/core'
import { findNatsServer } from '@beaver/nats'
import type { Config } from '@beaver/platform'
import { bytes } from '../text/figures.ts'
import { fail, type Finding, ok, warn } from './check.ts'

const nodeMajorMin = 24
const diskBytesMin = 100_000_000
const diskBytesComfortable = 1_000_000_000

export function checkNode(version = process.versions.node): Finding {
  const major = Number(version.split('.')[0])
  return major >= nodeMajorMin
    ? ok('Node.js', version)
    : fail(
        'Node.js',
        `${version} is too old; Beaver needs ${nodeMajorMin} or newer`,
        'Run "npm start" once. It installs a current Node.js in the project.',
      )
}

/** The binary and its sync mode. A server of the user's own is checked by the system check. */
export async function checkNatsServer(config: Config): Promise<Finding[]> {
  const external = config.nats_url !== undefined
  try {
    const { binary, version, from } = await findNatsServer(config.natsServerBinary, process.env['PATH'])
    const found = ok('nats-server', `${version} (${binary}, from ${from})`)
    return external
      ? [found]
      : [found, ok('sync policy', 'always: the embedded server writes every event to disk before it answers')]
  } catch (error) {
    if (!(error instanceof BeaverError)) throw error
    const [says = '', ...todo] = error.message.split(/(?<=\.) /)
    return [
      external
        ? warn('nats-server', `${says} You do not need it while NATS_URL names a server.`, todo.join(' '))
        : fail('nats-server', says, todo.join(' ')),
    ]
  }
}

export async function checkDisk(home: string): Promise<Finding> {
  let folder = home
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder)
  try {
    await access(folder, constants.W_OK)
    const { bavail, bsize } = await statfs(folder)
    const free = bavail * bsize
    const says = `${bytes(free)} free for ${home}`
    if (free < diskBytesMin) return fail('disk', says, 'Make room, or choose another folder with --home.')
    return free < diskBytesComfortable
      ? warn('disk', says, 'Beaver never deletes the journal. Make room before it grows.')
      : ok('disk', says)
  } catch (error) {
    return fail(
      'disk',
      `${folder} cannot be written: ${messageOf(error)}`,
      'Choose another folder with --home, or change its permissions.',
    )
  }
}

export function checkLoopback(): Promise<Finding> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error) =>
      resolve(
        fail(
          'ports',
          `No port on 127.0.0.1 can be opened: ${error.message}`,
          'Allow this user to listen on the loopback address.',
        ),
      ),
    )
    server.listen(0, '127.0.0.1', () =>
      server.close(() =>
        resolve(ok('ports', 'free ports on 127.0.0.1 can be opened; nothing listens on other addresses')),
      ),
    )
  })
}
