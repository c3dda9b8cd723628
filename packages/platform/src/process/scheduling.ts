// How the operating system shares its processors among the threads of Beaver's processes
// (docs/decisions/0023).
import { isOn } from '@beaver/core'
import { execFile } from './programs.ts'

/**
 * Sets SCHED_BATCH for the threads of a process and for those that they make. Such a thread waits for a free
 * processor and does not interrupt the thread that has it. Its share of time stays the same. This needs no
 * privilege.
 * @returns whether it was set. It is not set without Linux, without `chrt` of util-linux, if it is forbidden,
 * or if the switch
 *   `batch_scheduling` is off.
 */
export function scheduleAsBatch(pid: number): Promise<boolean> {
  if (process.platform !== 'linux' || !isOn('batch_scheduling')) return Promise.resolve(false)
  return new Promise((resolve) => {
    execFile('chrt', ['--batch', '--all-tasks', '--pid', '0', String(pid)], { timeout: 5_000 }, (error) =>
      resolve(error === null),
    )
  })
}
