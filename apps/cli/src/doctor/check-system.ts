// Examines the running system, if there is one, and reports what is wrong with it.
import { messageOf } from '@beaver/core'
import type { Config } from '@beaver/platform'
import { examineSystem } from '../system/examine-system.ts'
import { type FoundSystem, lookForSystem } from '../system/find-system.ts'
import { fail, type Finding, ok } from './check.ts'
import { systemFindings } from './system-findings.ts'

export async function checkSystem(config: Config): Promise<Finding[]> {
  const found = lookForSystem(config)
  if (found === null) return [ok('system', 'no system runs here now. Start one with "beaver up"')]
  try {
    return systemFindings(await examineSystem(found, { verify: true }), Date.now())
  } catch (error) {
    return [serverAway(found, error)]
  }
}

/** The finding for a system whose server does not answer. */
export function serverAway({ pid }: FoundSystem, error: unknown): Finding {
  const todo =
    pid === null
      ? 'Start that server, correct NATS_URL, or unset it to use the embedded one.'
      : `Check process ${pid}, which runs "beaver up" here, and logs/up.log in its home.`
  return fail('system', messageOf(error).split(/(?<=\.) /)[0] ?? '', todo)
}
