// Stops a process, as a machine that hangs does. SIGSTOP alone returns before all threads stand still, and a busy
// thread may answer one more request.
import { readdirSync, readFileSync } from 'node:fs'
import { until } from '@beaver/testing'

/** Resolves when all threads of the process are stopped. SIGCONT lets it go on. */
export async function freeze(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP')
  const stopped = (): boolean => statesOf(pid).every((state) => state === 'T')
  await until('all threads of the process are stopped', stopped, { everyMs: 1 })
}

const statesOf = (pid: number): string[] =>
  readdirSync(`/proc/${pid}/task`).map(
    (thread) => readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8').split(') ').at(-1)?.[0] ?? '',
  )
