// What one run of tests has in common: a folder for everything temporary, and a nats-server that the files
// share. The run makes both and removes both, after every process that works in the folder has ended. A
// process that does not end by itself is killed and fails the run with its name.
import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '@beaver/testing'
import type { TestProject } from 'vitest/node'
import { ownServer } from './nats.ts'
import { type FoundProcess, workingIn } from './processes.ts'

declare module 'vitest' {
  interface ProvidedContext {
    readonly runFolder: string
    readonly sharedServer: {
      readonly url: string
      readonly port: number
      readonly pid: number
      readonly dataDir: string
    }
  }
}

export async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'beaver-run-')))
  // Tests that step down to another user pass through it, as through the system's own folder for temporary
  // files.
  await chmod(folder, 0o755)
  const server = await ownServer({ dataDir: join(folder, 'nats') })
  const { url, port, pid, dataDir } = server
  provide('runFolder', folder)
  provide('sharedServer', { url, port, pid, dataDir })
  return async () => {
    const left = await stillWorkingIn(folder)
    for (const each of left) process.kill(each.pid, 'SIGKILL')
    await server[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    if (left.length > 0)
      throw new Error(
        `The tests are over, and these processes still ran:\n${left.map((each) => `${each.pid} ${each.command}`).join('\n')}`,
      )
  }
}

/** The workers of the run end now, and what they share ends with them. */
async function stillWorkingIn(folder: string): Promise<FoundProcess[]> {
  let left: FoundProcess[] = []
  await until('the processes of the run have ended', () => (left = workingIn(folder)).length === 0).catch(
    () => {},
  )
  return left
}
