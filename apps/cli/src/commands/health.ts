// `beaver health`: asks the processes of this home whether they can work, for a container or a supervisor that
// only knows exit codes. It loads no client, because it runs every few seconds.
import { join } from 'node:path'
import { BeaverError, messageOf } from '@beaver/core'
import { type Config, lockHolder, runningStatus, type StatusFile } from '@beaver/platform'
import { commandName } from '../command-name.ts'
import { contextOf, type GlobalOptions } from '../context.ts'
import { mustRead } from '../system/find-system.ts'

export interface HealthOptions {
  readonly json?: true
}

const answerMsMax = 3_000
const wordsMax = 200

/** @returns 0: all of them can work; 1: one cannot @throws {BeaverError} `unreachable` if none listens */
export async function health(
  name: StatusFile['process'] | undefined,
  options: HealthOptions,
  globals: GlobalOptions,
): Promise<number> {
  const { config, screen } = contextOf(globals)
  // The home of a stranger could name the stranger's page.
  if (!config.foreignHome) mustRead([config.home, join(config.home, 'run')])
  const all = config.foreignHome ? [] : runningStatus(config.home)
  const asked = all.filter((each) => name === undefined || each.process === name)
  if (asked.length === 0) throw new BeaverError('unreachable', whyNone(name, config, all))
  const answers = await Promise.all(asked.map(answerOf))
  const isReady = answers.every(({ ready }) => ready)
  if (options.json === true) screen.json({ ready: isReady, processes: answers })
  else
    for (const { process, pid, ready, says } of answers)
      screen.print(`${process} ${pid}: ${ready ? 'ready' : `not ready: ${says}`}`)
  return isReady ? 0 : 1
}

/** Why nobody can be asked, and what to do. A process that is alone in its home can only be known by its file. */
function whyNone(
  name: StatusFile['process'] | undefined,
  { home, status, foreignHome }: Pick<Config, 'home' | 'status' | 'foreignHome'>,
  others: readonly StatusFile[],
): string {
  if (others.length > 0)
    return `No ${name} of ${home} can be asked. These can: ${[...new Set(others.map((each) => each.process))].join(', ')}.`
  const holder = foreignHome ? null : lockHolder(home)
  const switchOn = 'Set "status": {"listen": "on"} or BEAVER_STATUS_LISTEN=on'
  if (holder === null)
    return status.listen === 'off'
      ? `Nothing runs in ${home} that can be asked, and "status.listen" is off. ${switchOn}, and start Beaver: "${commandName()} up".`
      : `Nothing runs in ${home}. Start it: "${commandName()} up".`
  return status.listen === 'off'
    ? `Beaver runs in ${home} (process ${holder.pid}), but "status.listen" is off, so nobody can be asked. ${switchOn}, and start it again.`
    : `Beaver runs in ${home} (process ${holder.pid}), but no process of it listens. If it started before "status.listen" was set, start it again. Otherwise, its logs in ${join(home, 'logs')} say why ("status_not_listening").`
}

async function answerOf({ process, pid, url }: StatusFile) {
  try {
    const answer = await fetch(`${url}/readyz`, {
      signal: AbortSignal.timeout(answerMsMax),
      redirect: 'error',
    })
    const says = (await answer.text()).trim().slice(0, wordsMax)
    return { process, pid, url, ready: answer.status === 200, says }
  } catch (error) {
    return { process, pid, url, ready: false, says: messageOf(error) }
  }
}
