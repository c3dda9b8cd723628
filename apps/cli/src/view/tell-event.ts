// Formats an event as one plain line, if no live view is possible: who, and what. Events without news for a person are left out.
import { type ExecutionNode, isTerminalTaskEvent, type RecordedEvent, type SharedStateChange } from '@beaver/core'
import { count, counted, duration } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { cutToWidth, padEnd, padStart } from '../text/width.ts'
import type { TaskView } from './task-view.ts'

const whoColumns = 18
const textColumnsMax = 200
const computedColumnsMax = 80

/** The line of an event. `view` is the view after it. `null` if there is nothing to say. */
export function tellEvent(event: RecordedEvent, view: TaskView): string | null {
  const said = saying(event, view)
  if (said === null) return null
  const at = view.submittedAt === null ? 0 : Date.parse(event.time) - view.submittedAt
  const who = padEnd(cutToWidth(oneLine(said.who), whoColumns), whoColumns)
  return `${padStart(duration(at), 9)}  ${who}  ${cutToWidth(oneLine(said.text), textColumnsMax)}`
}

function saying(event: RecordedEvent, view: TaskView): { who: string; text: string } | null {
  const agent = (event.runId === undefined ? undefined : view.byRun.get(event.runId))?.name ?? 'root'
  const task = (text: string) => ({ who: 'task', text })
  const by = (text: string) => ({ who: agent, text })
  if (isTerminalTaskEvent(event.type)) {
    const failure = view.result?.failure ?? null
    return task(failure === null ? view.status : `${view.status}: ${failure.message}`)
  }
  switch (event.type) {
    case 'task_submitted':
      return task(`${event.data.task_id} accepted${view.workflow === null ? '' : ` as ${view.workflow}`}`)
    case 'task_claimed':
      return view.claims > 1 ? task('taken over by another daemon') : null
    case 'task_released':
      return task(`given back: ${event.data.reason}`)
    case 'task_cancel_requested':
      return task(`cancel requested: ${event.data.reason}`)
    case 'task_dead_lettered':
      return task(`given up on after ${counted(event.data.claims, 'lost owner')}`)
    case 'run_started':
      if (view.byRun.get(event.data.run_id)?.kind === 'tool') return null // its call follows
      return { who: event.data.agent_name, text: `started with ${counted(event.data.tools.length, 'tool')}` }
    case 'skill_selection_recorded': {
      const { chosen, candidates, failure } = event.data
      if (failure !== null) return by(`could not choose a skill: ${failure.message}`)
      return chosen.length > 0 ? by(`chose the skill ${chosen.join(', ')} of ${counted(candidates.length, 'candidate')}`) : null
    }
    case 'context_compacted':
      return by(`had too long a conversation: ${counted(event.data.results.length, 'tool result')} left out of it`)
    case 'context_summarized':
      return by(`had too long a conversation: a summary stands for ${counted(event.data.messages_dropped, 'message')}`)
    case 'approval_requested':
      return by(`waits for an approval of ${event.data.tool_name}: ${event.data.subject}`)
    case 'approval_granted':
      return by(`may call ${toolOf(event, view)}: ${event.data.by} allowed it`)
    case 'approval_denied':
      return by(`may not call ${toolOf(event, view)}: ${event.data.by} refused it${event.data.reason === '' ? '' : `. ${event.data.reason}`}`)
    case 'skill_activation_snapshotted':
      return event.data.skills.length === 0 ? null : by(`uses the skill ${event.data.skills.map((skill) => skill.name).join(', ')}`)
    case 'execution_mode_selected':
      return by(event.data.execution_mode === 'team' ? 'selected Team execution' : 'selected single-agent execution')
    case 'provider_call_failed':
      return by(`model call failed (${event.data.failure.class}): ${event.data.failure.message}${nextTry(event.data.retry_in_ms)}`)
    case 'assistant_message_added':
      return by(
        event.data.tool_calls.length > 0
          ? `calls ${event.data.tool_calls.map((call) => call.name).join(', ')}`
          : `answers (${count(event.data.content?.length ?? 0)} characters)`,
      )
    case 'tool_call_requested':
      return by(`calls ${event.data.call.name}`)
    case 'tool_result_recorded': {
      const { tool_name, success, error, content, duration_ms } = event.data
      return by(
        success ? `${tool_name} succeeded in ${count(duration_ms)} ms` : `${tool_name} failed${error === null ? '' : ` (${error})`}: ${messageIn(content)}`,
      )
    }
    case 'workspace_files_checked': {
      const { files } = event.data
      return by(`${counted(files.filter((file) => file.found === 'file').length, 'file')} of ${count(files.length)} required in the workspace`)
    }
    case 'run_failed':
      return by(`failed: ${event.data.failure.message}`)
    case 'run_cancelled':
      return by(`cancelled: ${event.data.reason}`)
    case 'run_restarted':
      return by(`started again from the journal: ${event.data.failure.message}`)
    case 'task_team_run_started':
      return {
        who: 'team',
        text: `${event.data.graph.workflow} with ${counted(event.data.graph.nodes.length, nounOf(event.data.graph.nodes))}: ${namesOf(event.data.graph.nodes)}`,
      }
    case 'graph_extended': {
      const { node_id, nodes, edges } = event.data
      const by = nodes.length === 0 ? counted(edges.length, 'edge') : counted(nodes.length, nounOf(nodes))
      return { who: 'team', text: `grew by ${by} after ${node_id}${nodes.length === 0 ? '' : `: ${namesOf(nodes)}`}` }
    }
    case 'node_computed':
      return { who: event.data.node_id, text: `computed ${cutToWidth(oneLine(event.data.output), computedColumnsMax)}` }
    case 'node_skipped':
      return { who: event.data.node_id, text: `skipped: ${event.data.reason}` }
    case 'team_diagnostic_recorded':
      return { who: event.data.node_id, text: `note (${event.data.code}): ${event.data.message}` }
    case 'shared_state_changed':
      return by(`shared state: ${changeOf(event.data.change)}`)
    case 'node_evidence_evaluated': {
      const failed = event.data.checks.filter((check) => check.status === 'failed')
      const checked = event.data.checks.filter((check) => check.status !== 'not_checked').length
      return {
        who: event.data.node_id,
        text: failed.length === 0 ? `evidence ${checked} of ${checked} passed` : `evidence missing: ${failed.map((check) => check.detail).join(' ')}`,
      }
    }
    case 'node_completed':
      return { who: event.data.node_id, text: 'completed' }
    case 'node_failed':
      return { who: event.data.node_id, text: `failed: ${event.data.failure.message}` }
    case 'node_blocked':
      return { who: event.data.node_id, text: `blocked by ${event.data.cause_node_id}` }
    case 'node_cancel_requested':
      return { who: event.data.node_id, text: `cancel requested: ${event.data.reason}` }
    case 'node_cancelled':
      return { who: event.data.node_id, text: `cancelled: ${event.data.reason}` }
    case 'task_team_run_completed':
      return { who: 'team', text: 'complete' }
    case 'task_team_run_failed':
      return { who: 'team', text: `${event.data.outcome}: ${event.data.message}` }
    default:
      return null
  }
}

/** The tool of a call that is still open. */
function toolOf({ runId, data }: { readonly runId?: string; readonly data: { readonly call_id: string } }, view: TaskView): string {
  return (runId === undefined ? undefined : view.byRun.get(runId))?.tools.get(data.call_id) ?? data.call_id
}

/** The message of a failed call. If the content is JSON with a message, only the message. */
function messageIn(content: string): string {
  try {
    const { message } = JSON.parse(content) as { message?: unknown }
    return typeof message === 'string' ? message : content
  } catch {
    return content
  }
}

function nextTry(retryInMs: number | null): string {
  if (retryInMs === null) return ''
  return retryInMs === 0 ? ' The fallback is asked.' : ` Next try in ${duration(retryInMs)}.`
}

const namedMax = 20

function namesOf(nodes: readonly ExecutionNode[]): string {
  const more = nodes.length > namedMax ? ` and ${count(nodes.length - namedMax)} more` : ''
  return (
    nodes
      .slice(0, namedMax)
      .map((node) => node.node_id)
      .join(', ') + more
  )
}

const nounOf = (nodes: readonly ExecutionNode[]): string => (nodes.every((node) => node.kind === 'agent') ? 'agent' : 'node')

function changeOf(change: SharedStateChange): string {
  const path = typeof change.path === 'string' ? change.path : change.path.join('.')
  switch (change.action) {
    case 'set':
      return `${path} = ${JSON.stringify(change.value)}`
    case 'increment':
      return `${path} + ${change.by}`
    case 'append':
      return `${path} has one more: ${JSON.stringify(change.value)}`
    case 'delete':
      return `${path} deleted`
    default:
      return change satisfies never
  }
}
