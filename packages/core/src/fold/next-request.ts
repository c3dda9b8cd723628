// What a run sends to its model next, as its own record says: the messages, and the names of the tools. So a
// resumed run asks as before, and a screen shows what was sent.
import type { ChatMessage } from '../chat.ts'
import type { ToolChoice } from '../client-tool.ts'
import { definitionPrefix } from '../graph/execution-graph.ts'
import type { RunState } from './run-state.ts'
import { teamOutputTool } from './shorten.ts'

const forcedMessage: ChatMessage = {
  role: 'user',
  content:
    'You have used all of your tool iterations and cannot call tools any more. Answer now from what you know, and say what is missing.',
}

/**
 * Whether the run has used its tool iterations, so that the model answers once more, without tools.
 *
 * @example
 * isForced(startRun({ ...run.start, max_tool_iterations: 1 })) // => false
 */
export const isForced = ({ toolIterations, start }: RunState): boolean =>
  toolIterations >= start.max_tool_iterations

/**
 * The messages of a run's next provider call. `history` is the visible transcript of the session's earlier
 * tasks.
 *
 * @example
 * nextMessages(startRun(run.start), []) // => []
 */
export function nextMessages(run: RunState, history: readonly ChatMessage[]): readonly ChatMessage[] {
  const messages = conversation(run, history)
  return isForced(run) ? [...messages, forcedMessage] : messages
}

function conversation(run: RunState, history: readonly ChatMessage[]): readonly ChatMessage[] {
  if (history.length <= run.historyDropped) return run.messages
  const kept = run.historyDropped === 0 ? history : history.slice(run.historyDropped)
  return [...run.messages.slice(0, run.historyIndex), ...kept, ...run.messages.slice(run.historyIndex)]
}

/**
 * Whether a result in the conversation refers to the tool `team_output`. The tool is offered only then.
 *
 * @example
 * refersToTeamOutput(startRun(run.start)) // => false
 */
export function refersToTeamOutput({ messages }: RunState): boolean {
  return messages.some(
    (message) => message.role === 'tool' && message.content.includes(`${teamOutputTool} {`),
  )
}

/**
 * Whether the next answer of the run must call a tool.
 *
 * @example
 * mustCall(startRun({ ...run.start, tool_choice: 'required' })) // => true
 * mustCall(startRun(run.start)) // => false
 */
export const mustCall = ({ choice: { tools, since }, toolIterations }: RunState): boolean =>
  tools !== null && toolIterations === since && modeOf(tools) === 'required'

const modeOf = (choice: ToolChoice): string => (typeof choice === 'string' ? choice : choice.mode)

/**
 * Whether the next answer of the run may call the tool, as far as the choice of its task or of its client goes.
 *
 * @example
 * const narrowed = startRun({ ...run.start, tool_choice: { mode: 'auto', names: ['colour'] } })
 * isChosen(narrowed, 'colour') // => true
 * isChosen(narrowed, 'read_file') // => false
 */
export function isChosen(run: RunState, tool: string): boolean {
  const { tools, since } = run.choice
  if (tools === null) return true
  if (typeof tools === 'string') return tools !== 'none'
  if ('except' in tools) return !tools.except.includes(tool)
  return tools.names.includes(tool) || (tools.mode === 'required' && run.toolIterations > since)
}

/**
 * The names of the tools that the run's next provider call offers. The record of a run lists its tools, then
 * `team_output` if it may call teams, and behind it its workflows. Of more than 40 tools a request may have
 * fewer: those that the model finds with `find_tools` are not sent.
 *
 * @param provider the provider that is asked. `null`: nobody knows it
 * @example
 * const root = startRun({ ...run.start, team_run_id: null, tools: ['read_file', 'team_output', 'SequentialWorkflow'] })
 * nextToolNames(root, null) // => ['read_file', 'SequentialWorkflow']
 */
export function nextToolNames(run: RunState, provider: string | null): readonly string[] {
  if (isForced(run) || run.repairing) return []
  const { tools } = run.start
  const teamsFrom = run.start.team_run_id === null ? tools.indexOf(teamOutputTool) : -1
  const isTeam = (name: string, at: number): boolean =>
    teamsFrom >= 0 && at > teamsFrom && !name.startsWith(definitionPrefix)
  const offered = tools.filter(
    (name, at) => !(teamsFrom === at || (run.executionMode === 'single' && isTeam(name, at))),
  )
  const assembled =
    run.start.team_run_id === null && refersToTeamOutput(run) ? [...offered, teamOutputTool] : offered
  const all = run.choice.tools === null ? assembled : assembled.filter((name) => isChosen(run, name))
  const leftOut =
    provider !== null && Object.hasOwn(run.toolsLeftOut, provider) ? run.toolsLeftOut[provider] : undefined
  return leftOut === undefined ? all : all.filter((name) => !leftOut.includes(name))
}
