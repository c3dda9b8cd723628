// Checks what a daemon would load here: skills, tools, workflow definitions, profiles and MCP servers. Each
// fault names its file.
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { type LoadDiagnostic, loadSkills, skillPlaces, type Tool, toolKindOf } from '@beaver/agent'
import { BeaverError, messageOf } from '@beaver/core'
import { defaultEgressPolicy, sinks, taintLabels } from '@beaver/core/taint'
import type { McpReport, PinsRead } from '@beaver/mcp'
import type { Config } from '@beaver/platform'
import { configuredRuleFaults, ruleFaultText, type Toolset } from '@beaver/tools'
import { commandName } from '../command-name.ts'
import { counted } from '../text/figures.ts'
import { runningMcpReport } from '../text/mcp-servers.ts'
import { ownServerText } from '../text/own-server.ts'
import { oneLine } from '../text/plain-text.ts'
import { toolsetOf } from '../toolset.ts'
import { fail, type Finding, ok, warn } from './check.ts'

const diagnosticsMax = 10
const faultLinesMax = 3

/** What was loaded, and the faults of what could not be used. */
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
      ...(await checkMcp(config)),
    ]
  } catch (error) {
    if (!(error instanceof BeaverError)) throw error
    return [
      fail('loaded', oneLine(error.message), 'No daemon starts until you correct this.'),
      ...faultsOf(diagnostics),
      ...(await checkMcp(config)),
    ]
  }
}

/** Permission rules that never hold, so that nobody should rely on them. */
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
 * What happens after a run has read a stranger's text: which tools bring such text, which calls are then
 * guarded, and where the configuration is weaker than the default.
 */
function egressOf({ egress }: Config, tools: readonly Tool[]): Finding {
  const kinds = tools.map((tool) => ({ name: tool.name, ...toolKindOf(tool) }))
  const named = (of: readonly { name: string }[]): string =>
    of.length === 0 ? 'none' : of.map(({ name }) => name).join(', ')
  const strangers = kinds.filter(
    ({ reads }) => reads === 'web' || reads === 'untrusted' || reads === 'depends',
  )
  const guarded = kinds.filter(({ sink }) => sink !== null && egress.policy[sink].untrusted !== 'allow')
  const says = oneLine(
    `text of strangers from: ${named(strangers)}; after it, these ask or are refused: ${named(guarded)}`,
    600,
  )
  const open = sinks.filter((sink) =>
    taintLabels.some(
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
  const found = faults.slice(0, diagnosticsMax).map(({ file, severity, message }): Finding =>
    severity === 'error'
      ? warn('loaded', oneLine(`${file}: ${message}`), 'Beaver does not use it until you correct this.')
      : {
          status: 'warn',
          name: 'loaded',
          says: `${oneLine(`${file}: ${message}`)} Beaver uses it.`,
          todo: null,
        },
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

/**
 * What could not be loaded, in a few lines for a person who starts a system. The doctor has advice for each
 * fault.
 */
export function faultLines(loaded: readonly Finding[]): string[] {
  const faults = loaded.filter(({ status }) => status !== 'ok')
  const shown = faults.slice(0, faultLinesMax).map(({ says }) => says)
  const last = [
    ...(faults.length > faultLinesMax ? [`${faults.length - faultLinesMax} more.`] : []),
    // A tool that replaces another one works, and nobody has to do anything.
    ...(faults.some(({ todo }) => todo !== null) ? [`What to do: ${commandName()} doctor`] : []),
  ]
  return last.length === 0 ? shown : [...shown, last.join(' ')]
}

// Checks whether each MCP server of the configuration could be started or reached, and shows what the daemon
// of this home reports. It neither starts nor calls a server.

const leftOutShown = 3

async function checkMcp({
  mcp,
  mcpVariables,
  home,
}: Pick<Config, 'mcp' | 'mcpVariables' | 'home'>): Promise<Finding[]> {
  const servers = Object.entries(mcp)
  const environment = { ...process.env, ...mcpVariables }
  if (servers.length === 0) return []
  const { addressOf, mcpPinsFile, readPins } = await import('@beaver/mcp')
  const named: string[] = []
  const faults: Finding[] = []
  for (const [name, server] of servers) {
    named.push(`${name} (${'command' in server ? oneLine(server.command) : new URL(server.url).host})`)
    try {
      const address = addressOf(server, environment)
      if (
        address.kind === 'program' &&
        !isProgram(address.command, { path: address.env['PATH'] ?? '', cwd: address.cwd ?? '.' })
      )
        faults.push(
          warn(
            `MCP ${name}`,
            `There is no program ${JSON.stringify(address.command)}`,
            'Correct "command", or install the program. Until then, agents do not have its tools.',
          ),
        )
    } catch (error) {
      faults.push(warn(`MCP ${name}`, messageOf(error), 'Until then, agents do not have its tools.'))
    }
  }
  return [
    ok('MCP servers', `${counted(servers.length, 'server')} configured: ${named.join(', ')}`),
    ...faults,
    ...ofPins(await readPins(mcpPinsFile(home))),
    ...ofReport(await runningMcpReport(home)),
  ]
}

/** The tools that wait for an approval, whether or not a daemon runs. */
function ofPins(read: PinsRead): Finding[] {
  if (read.kind === 'unusable')
    return [warn('MCP pins', oneLine(read.message), 'Until then, agents get no tool of an MCP server.')]
  const waiting = Map.groupBy(
    read.pins.filter(({ changed }) => changed !== undefined),
    ({ server }) => server,
  )
  return [...waiting].map(([server, pins]) =>
    warn(
      `MCP ${oneLine(server)}`,
      `${counted(pins.length, 'tool')} changed or appeared and ${pins.length === 1 ? 'is' : 'are'} withheld: ${pins
        .slice(0, 5)
        .map(({ tool }) => oneLine(tool))
        .join(', ')}`,
      `Read what they say with "beaver mcp pins ${oneLine(server)}". If you agree: beaver mcp approve ${oneLine(server)}`,
    ),
  )
}

function ofReport(report: McpReport | null): Finding[] {
  return (report?.servers ?? []).flatMap((server): Finding[] => {
    const { name, state, left_out: leftOut, left_out_tools: tools, reason } = server
    const own = ownServerText(server)
    const ownFindings = own === null ? [] : [ok(`MCP ${oneLine(name)}`, own)]
    if (state === 'needs_login')
      return [
        warn(
          `MCP ${oneLine(name)}`,
          `The server ${oneLine(name)} needs a login: ${oneLine(reason ?? '')}`,
          `Type: beaver mcp login ${oneLine(name)}`,
        ),
      ]
    if (state === 'failed' || state === 'restarting')
      return [
        warn(
          `MCP ${oneLine(name)}`,
          `The server ${oneLine(name)} does not run: ${oneLine(reason ?? '')}`,
          'The log of the daemon says more.',
        ),
      ]
    if (leftOut === 0) return ownFindings
    const shown = tools
      .slice(0, leftOutShown)
      .map(({ tool, reason: why }) => `${oneLine(tool)} (${oneLine(why)})`)
    const more = leftOut > shown.length ? `, and ${counted(leftOut - shown.length, 'more tool')}` : ''
    return [
      ...ownFindings,
      warn(
        `MCP ${oneLine(name)}`,
        `Agents do not get ${counted(leftOut, 'tool')} of ${oneLine(name)}: ${shown.join(', ')}${more}`,
        '"beaver tools list" lists them with their reasons. Correct them at the server, or select the tools that you need with "tools" in its configuration.',
      ),
    ]
  })
}

function isProgram(command: string, { path, cwd }: { path: string; cwd: string }): boolean {
  const places = command.includes('/')
    ? [resolve(cwd, command)]
    : path.split(delimiter).map((folder) => join(folder, command))
  return places.some((file) => {
    try {
      accessSync(file, constants.X_OK)
      return statSync(file).isFile()
    } catch {
      return false
    }
  })
}
