// Examines the running system, if there is one, and reports its faults.
import { messageOf } from '@beaver/core'
import type { Config } from '@beaver/platform'
import { examineSystem } from '../system/examine-system.ts'
import { type FoundSystem, lookForSystem } from '../system/find-system.ts'
import { fail, type Finding, ok } from './check.ts'
import { checkModels } from './check-model.ts'
import { systemFindings } from './system-findings.ts'

/**
 * The findings about the running system and its models. If no daemon answers, the models are those that a
 * daemon would have here.
 */
export async function checkSystem(config: Config): Promise<Finding[]> {
  const found = lookForSystem(config)
  if (found === null)
    return [
      ok('system', 'no system runs here now. Start one with "beaver up"'),
      ...(await checkModels(config)),
    ]
  try {
    const report = await examineSystem(found, { verify: true })
    return [
      ...systemFindings(report, Date.now()),
      ...(report.daemon.kind === 'answered' ? [] : await checkModels(config)),
    ]
  } catch (error) {
    return [serverAway(found, error), ...(await checkModels(config))]
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
