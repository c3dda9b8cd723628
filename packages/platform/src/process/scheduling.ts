// How the operating system shares its processors among the threads of Beaver's processes (docs/decisions/0023).
import { execFile } from 'node:child_process'
import { isOn } from '@beaver/core'

/**
 * Has the threads of a process, and those they make, take a processor when one is free, in place of interrupting the thread that
 * has it: SCHED_BATCH, their share of time stays what it was. Needs no privilege.
 * @returns whether it is so: false where there is no Linux and no `chrt` of util-linux, where it is forbidden, and with the switch `batch_scheduling` off
 */
export function scheduleAsBatch(pid: number): Promise<boolean> {
  if (process.platform !== 'linux' || !isOn('batch_scheduling')) return Promise.resolve(false)
  return new Promise((resolve) => {
    execFile('chrt', ['--batch', '--all-tasks', '--pid', '0', String(pid)], { timeout: 5_000 }, (error) => resolve(error === null))
  })
}
