// Checks what a daemon here would load: skills, tools, workflow definitions, profiles, MCP servers. Each
// fault names its file.
import { type LoadDiagnostic, loadSkills, skillPlaces, type Tool, toolKindOf } from '@beaver/agent'
import { BeaverError, defaultEgressPolicy, sinks } from '@beaver/core'
import type { Config } from '@beaver/platform'
import { configuredRuleFaults, ruleFaultText, type Toolset } from '@beaver/tools'
import { commandName } from '../command-name.ts'
import { counted } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { toolsetOf } from '../toolset.ts'
import { fail, type Finding, ok, warn } from './check.ts'
import { checkMcp } from './check-mcp.ts'

const diagnosticsMax = 10
const faultLinesMax = 3

export async function checkLoaded(config: Config): Promise<Finding[]> {
  const { skills, diagnostics } = await loadSkills(
    skillPlaces({
      configured: config.skills,
      workspace: config.agent.workspace_skills ? config.workspace : null,
    }).map(({ folder }) => folder),
  )
  try {
    const toolset = await toolsetOf(config)
    const faults = [...diagnostics, ...toolset.diagnostics]
    const counts = [
      counted(skills.length, 'skill'),
      counted(toolset.tools.length, 'tool'),
      counted(toolset.definitions.length, 'workflow definition'),
      counted(toolset.profiles.size, 'profile'),
    ]
    return [
      ok('loaded', counts.join(', ')),
      ...faultsOf(faults),
      ...rulesOf(config, toolset),
      egressOf(config, toolset.tools),
      ...(await checkMcp(config, process.env)),
    ]
  } catch (error) {
    if (!(error instanceof BeaverError)) throw error
    return [
      fail('loaded', oneLine(error.message), 'No supervisor starts until you correct this.'),
      ...faultsOf(diagnostics),
      ...(await checkMcp(config, process.env)),
    ]
  }
}

/** Rules that nobody should rely on. */
function rulesOf(config: Config, toolset: Toolset): Finding[] {
  const faults = configuredRuleFaults(config, toolset)
  const found = faults
    .slice(0, diagnosticsMax)
    .map((fault) =>
      warn(
        'permissions',
        oneLine(ruleFaultText(fault), 600),
        'Correct the rule, or remove it. The other rules hold.',
      ),
    )
  const left = faults.length - found.length
  return left <= 0
    ? found
    : [
        ...found,
        warn(
          'permissions',
          `${counted(left, 'more rule')} never ${left === 1 ? 'holds' : 'hold'}`,
          '"beaver tools list" lists all of them.',
        ),
      ]
}

/**
 * What may leave a run that has read a stranger's text: which tools this concerns, and where the
 * configuration is weaker than the default.
 */
function egressOf({ egress }: Config, tools: readonly Tool[]): Finding {
  const kinds = tools.map((tool) => ({ name: tool.name, ...toolKindOf(tool) }))
  const named = (of: readonly { name: string }[]): string =>
    of.length === 0 ? 'none' : of.map(({ name }) => name).join(', ')
  const strangers = kinds.filter(({ reads }) => reads !== 'own' && reads !== 'secret')
  const guarded = kinds.filter(({ sink }) => sink !== null && egress.policy[sink].untrusted !== 'allow')
  const says = oneLine(
    `text of strangers from: ${named(strangers)}; after it, these ask or are refused: ${named(guarded)}`,
    600,
  )
  const open = sinks.filter((sink) =>
    (['untrusted', 'secret'] as const).some(
      (label) => egress.policy[sink][label] === 'allow' && defaultEgressPolicy[sink][label] !== 'allow',
    ),
  )
  if (open.length === 0) return ok('egress', says)
  return warn(
    'egress',
    `${says}. Weaker than the default: ${open.join(', ')}`,
    '"egress.policy" of the configuration lets such calls run without a question.',
  )
}

function faultsOf(faults: readonly LoadDiagnostic[]): Finding[] {
  const found = faults
    .slice(0, diagnosticsMax)
    .map(({ file, severity, message }) =>
      warn(
        'loaded',
        oneLine(`${file}: ${message}`),
        severity === 'error' ? 'Beaver does not use it until you correct this.' : 'Beaver uses it anyway.',
      ),
    )
  const left = faults.length - found.length
  return left <= 0
    ? found
    : [
        ...found,
        warn(
          'loaded',
          counted(left, 'more fault'),
          '"beaver skills list" and "beaver tools list" list all of them.',
        ),
      ]
}

/** What could not be loaded, for somebody who starts a system. The doctor has advice for each fault. */
export function faultLines(loaded: readonly Finding[]): string[] {
  const faults = loaded.filter(({ status }) => status !== 'ok')
  const shown = faults.slice(0, faultLinesMax).map(({ says }) => says)
  return faults.length === 0
    ? []
    : [
        ...shown,
        `${faults.length > faultLinesMax ? `${faults.length - faultLinesMax} more. ` : ''}What to do: ${commandName()} doctor`,
      ]
}
