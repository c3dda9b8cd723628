// `beaver doctor`: checks what Beaver needs. Each check is one line, with advice. Exit code 0 if nothing
// fails, otherwise 1.
import { BeaverError } from '@beaver/core'
import { configOf, type GlobalOptions } from '../context.ts'
import { type Finding, fail, ok } from '../doctor/check.ts'
import { checkChannels } from '../doctor/check-channels.ts'
import { checkGateway } from '../doctor/check-gateway.ts'
import { checkKnowledge } from '../doctor/check-knowledge.ts'
import { checkLoaded } from '../doctor/check-loaded.ts'
import { checkDisk, checkLoopback, checkNatsServer, checkNode } from '../doctor/check-machine.ts'
import { checkPermissions } from '../doctor/check-permissions.ts'
import { checkSandbox } from '../doctor/check-sandbox.ts'
import { checkSystem } from '../doctor/check-system.ts'
import { checkTrust } from '../doctor/check-trust.ts'
import { screenOf } from '../screen.ts'
import { findingLines } from '../text/finding-lines.ts'

export async function doctor(options: { readonly json?: true }, globals: GlobalOptions): Promise<number> {
  const screen = screenOf({ colour: globals.color })
  const findings = await examine(globals)
  const healthy = findings.every(({ status }) => status !== 'fail')
  if (options.json === true) screen.json({ ok: healthy, checks: findings })
  else screen.print(...findings.flatMap((finding) => findingLines(finding, screen)), '', verdict(findings))
  return healthy ? 0 : 1
}

async function examine(globals: GlobalOptions): Promise<Finding[]> {
  try {
    const config = configOf(globals)
    const read = ok(
      'configuration',
      config.file === null
        ? 'there is no beaver.config.json here, so Beaver uses the environment and the defaults'
        : config.file,
    )
    const checks = [
      checkNatsServer(config),
      checkDisk(config.home),
      checkLoopback(),
      checkLoaded(config),
      checkKnowledge(config),
      checkSandbox(config),
    ]
    const found = await Promise.all([
      ...checks,
      checkSystem(config),
      checkPermissions(config),
      checkGateway(config),
      checkChannels(config),
    ])
    return [read, ...checkTrust(config.trust), checkNode(), ...found.flat()]
  } catch (error) {
    if (!(error instanceof BeaverError) || error.code !== 'invalid_configuration') throw error
    return [
      checkNode(),
      fail('configuration', error.message, 'Correct the configuration. Beaver checked nothing else.'),
    ]
  }
}

function verdict(findings: readonly Finding[]): string {
  const of = (status: string): number => findings.filter((finding) => finding.status === status).length
  if (of('fail') > 0) return `${of('fail')} of ${findings.length} checks failed.`
  return of('warn') > 0 ? `Ready, with ${of('warn')} thing${of('warn') === 1 ? '' : 's'} to know.` : 'Ready.'
}
