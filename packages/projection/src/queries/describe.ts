// Describes an event for people: who did what, in one sentence. It is total over the catalogue.
// D1. Texts say "Root agent" (D-07) and have a bounded length. Machine names stay as they are.
// D2. Pure.
import type { DomainEvent, ExecutionNode, Failure, JsonObject, SharedStateChange, Usage } from '@beaver/core'
import { counted, excerpt, spanOf } from '../text.ts'

export type ActorType = 'client' | 'system' | 'daemon' | 'agent' | 'team' | 'node' | 'tool' | 'provider'

export interface Told {
  readonly actor: { readonly type: ActorType; readonly id: string; readonly name: string }
  readonly text: string
  readonly status: 'started' | 'waiting' | 'done' | 'skipped' | 'failed' | 'blocked' | 'cancelled'
  readonly metadata: JsonObject
}

/** What a sentence needs besides its event. */
export interface Surroundings {
  readonly taskId: string
  /** The run of the event. `null` if none is known. */
  readonly runId: string | null
  /** `Root agent`, or the name of a worker. */
  readonly agentName: string
  readonly team: { readonly workflow: string; readonly nodes: number; readonly completed: number } | null
  /** The tool of the run, if it is the run of a tool node: one call, without a model. */
  readonly nodeTool: string | null
  /** The call that the event decides about. */
  readonly asked: { readonly tool: string; readonly subject: string } | null
}

export function describe(event: DomainEvent, around: Surroundings): Told {
  const agent = { type: 'agent', id: around.runId ?? '', name: around.agentName } as const
  const system = { type: 'system', id: 'task-supervisor', name: 'Task supervisor' } as const
  const daemon = (id: string): Told['actor'] => ({ type: 'daemon', id, name: id })
  const node = (id: string): Told['actor'] => ({ type: 'node', id, name: id })
  const team = (id: string): Told['actor'] => ({ type: 'team', id, name: around.team?.workflow ?? 'Team' })
  const tool = (data: { call_id: string; tool_name: string }): Told['actor'] => ({ type: 'tool', id: data.call_id, name: data.tool_name })
  const progress = around.team === null ? '' : `: ${around.team.completed} of ${counted(around.team.nodes, 'node')} completed`

  switch (event.type) {
    case 'task_submitted': {
      const { source, skill, text, workflow, profile } = event.data.request
      const as = workflow === undefined ? '' : ` as the workflow ${excerpt(workflow.name)}`
      const more = { ...(workflow === undefined ? {} : { workflow: workflow.name }), ...(profile === undefined ? {} : { profile }) }
      return told({ type: 'client', id: source, name: 'Client' }, `Task submitted${as}: ${excerpt(text)}`, 'done', 'task', { source, skill, ...more })
    }
    case 'task_claimed':
      return told(daemon(event.data.daemon), `Daemon ${event.data.daemon} took the task.`, 'done', 'task')
    case 'task_released':
      return told(daemon(event.data.daemon), `Daemon ${event.data.daemon} gave the task back: ${excerpt(event.data.reason)}`, 'done', 'task')
    case 'task_suspended':
      return told(daemon(event.data.daemon), `The task waits without a daemon: ${excerpt(event.data.reason)}`, 'done', 'task')
    case 'task_log_copied':
      return told(
        system,
        `${event.data.events === 1 ? 'One event' : `${event.data.events} events`} of the task ${event.data.task_id} were taken over: this is its retry.`,
        'done',
        'task',
        { retry_of: event.data.task_id, events: event.data.events },
      )
    case 'task_cancel_requested':
      return told(system, `Cancellation was requested: ${excerpt(event.data.reason)}`, 'done', 'task')
    case 'task_dead_lettered':
      return told(system, `The task was given up on after ${counted(event.data.claims, 'claim')}.`, 'failed', 'task', event.data)
    case 'task_completed':
      return told(system, 'Task completed.', 'done', 'task', usageOf(event.data))
    case 'task_incomplete':
      return told(system, `Task ended incomplete${because(event.data.failure)}`, 'failed', 'task', usageOf(event.data))
    case 'task_failed':
      return told(system, `Task failed${because(event.data.failure)}`, 'failed', 'task', usageOf(event.data))
    case 'task_cancelled':
      return told(system, 'Task cancelled.', 'cancelled', 'task', usageOf(event.data))
    case 'run_started': {
      const { data } = event
      const what = around.nodeTool === null ? `started with ${counted(data.tools.length, 'tool')}` : `started: one call of the tool ${excerpt(around.nodeTool)}`
      return told(agent, `${around.agentName} ${what}.`, 'started', 'run', {
        attempt_index: data.attempt_index,
        node_id: data.node_id,
      })
    }
    case 'tool_scope_applied': {
      const { effective, dropped } = event.data
      const without = dropped.length === 0 ? '' : `; not available: ${excerpt(dropped.join(', '))}`
      return told(agent, `${around.agentName} may use ${counted(effective.length, 'tool')}${without}.`, 'done', 'tool')
    }
    case 'skill_activation_snapshotted': {
      const names = event.data.skills.map((skill) => skill.name)
      const what = names.length === 0 ? `${around.agentName} has no skill.` : `${around.agentName} has the skill ${excerpt(names.join(', '))}.`
      return told(agent, what, 'done', 'skill', { skills: event.data.skills.slice(0, 20).map(({ name, sha256 }) => ({ name, sha256 })) })
    }
    case 'system_prompt_snapshotted': {
      const { content, context } = event.data
      const tokens = context?.reduce((sum, part) => sum + part.tokens_estimated, 0)
      const costs = tokens === undefined ? '' : `; the first prompt is about ${counted(tokens, 'token')}`
      return told(agent, `The system prompt of ${around.agentName} is fixed: ${counted(content.length, 'character')}${costs}.`, 'done', 'context', {
        ...(context === undefined ? {} : { context: context.slice(0, 20).map((part) => ({ ...part })) }),
      })
    }
    case 'user_message_added':
      return told(agent, `${around.agentName} was given: ${excerpt(event.data.content)}`, 'done', 'message')
    case 'execution_mode_selected': {
      const { content: _content, ...payload } = event.data
      const text = `Root agent selected ${payload.execution_mode === 'team' ? 'Team' : 'single-agent'} execution.`
      return told({ type: 'system', id: 'main-agent-router', name: 'Root agent' }, text, 'done', 'execution_mode', payload)
    }
    case 'provider_call_failed': {
      const { failure, tries, retry_in_ms, status, provider_name } = event.data
      const next = retry_in_ms === null ? 'No further try.' : retry_in_ms === 0 ? 'The fallback is asked at once.' : `Next try in ${spanOf(retry_in_ms)}.`
      const by = provider_name === undefined ? 'Provider' : excerpt(provider_name)
      const text = `Model call of ${around.agentName}${provider_name === undefined ? '' : ` to ${by}`} failed (${failure.class}, try ${tries}): ${excerpt(failure.message)} ${next}`
      return told({ type: 'provider', id: around.runId ?? '', name: by }, text, 'failed', 'provider', {
        failure_class: failure.class,
        tries,
        retry_in_ms,
        http_status: status,
        provider_name: provider_name === undefined ? null : by,
      })
    }
    case 'assistant_message_added': {
      const { content, tool_calls, usage, model, provider_name, duration_ms } = event.data
      const asked = excerpt(tool_calls.map((call) => call.name).join(', '))
      const text = tool_calls.length > 0 ? `${around.agentName} called ${asked}.` : `${around.agentName} answered: ${excerpt(content ?? '')}`
      return told(agent, text, 'done', 'message', { provider_name, model, duration_ms, input_tokens: usage.input_tokens, output_tokens: usage.output_tokens })
    }
    case 'tool_call_requested': {
      const { id: call_id, name } = event.data.call
      return told(agent, `${around.agentName} calls the tool ${excerpt(name)}, as its graph says.`, 'done', 'tool', { call_id })
    }
    case 'tool_call_started':
      return told(tool(event.data), `${event.data.tool_name} started for ${around.agentName}.`, 'started', 'tool', { call_id: event.data.call_id })
    case 'tool_result_recorded': {
      const { tool_name, success, error, content, duration_ms, call_id } = event.data
      const outcome = success
        ? `succeeded for ${around.agentName} in ${spanOf(duration_ms)}.`
        : `failed for ${around.agentName}${error === null ? '' : ` (${excerpt(error)})`}: ${excerpt(messageIn(content))}`
      return told(tool(event.data), `${excerpt(tool_name)} ${outcome}`, success ? 'done' : 'failed', 'tool', {
        call_id,
        duration_ms,
        error: error === null ? null : excerpt(error),
      })
    }
    case 'skill_selection_recorded': {
      const { chosen, candidates, recall, failure, model, usage } = event.data
      const among = `${counted(candidates.length, 'candidate')} found by ${recall === 'embedding' ? 'meaning' : 'words'}`
      const text =
        failure !== null
          ? `${around.agentName} could choose no skill among ${among}${because(failure)}`
          : candidates.length === 0
            ? `No skill comes into question for ${around.agentName}.`
            : chosen.length === 0
              ? `No skill fits ${around.agentName}, among ${among}.`
              : `${around.agentName} chose the skill ${excerpt(chosen.join(', '))}, among ${among}.`
      return told(agent, text, failure === null ? 'done' : 'failed', 'skill', {
        chosen: chosen.slice(0, 10).map((name) => excerpt(name)),
        recall,
        model: model === null ? null : excerpt(model),
        ...tokensOf(usage),
      })
    }
    case 'context_compacted': {
      const { results, history_messages_dropped: dropped = 0 } = event.data
      const chars = results.reduce((sum, each) => sum + each.chars, 0)
      const parts = [
        ...(results.length === 0
          ? []
          : [`${counted(results.length, 'tool result')} of ${counted(chars, 'character')} became ${results.length === 1 ? 'a reference' : 'references'}`]),
        ...(dropped === 0 ? [] : [`the oldest ${counted(dropped, 'message')} of the session ${dropped === 1 ? 'is' : 'are'} left out`]),
      ]
      const text = `The conversation of ${around.agentName} was too long: ${parts.join(', ') || 'nothing could be left out'}.`
      return told(agent, text, 'done', 'context', { results: results.length, chars, history_messages_dropped: dropped })
    }
    case 'context_summarized': {
      const { messages_dropped, usage, model } = event.data
      const text = `The conversation of ${around.agentName} was too long still: a summary stands for ${counted(messages_dropped, 'message')} of it.`
      return told(agent, text, 'done', 'context', { messages_dropped, model: excerpt(model), ...tokensOf(usage) })
    }
    case 'approval_requested': {
      const { call_id, tool_name, subject, rule } = event.data
      const text = `${around.agentName} waits until somebody allows ${excerpt(tool_name)}: ${excerpt(subject)}`
      return told(agent, text, 'waiting', 'approval', { call_id, tool_name, rule: rule === null ? null : excerpt(rule) })
    }
    case 'approval_granted': {
      const { call_id, by } = event.data
      return told({ type: 'client', id: excerpt(by), name: excerpt(by) }, `${excerpt(by)} allowed ${askedOf(call_id, around)}.`, 'done', 'approval', {
        call_id,
      })
    }
    case 'approval_denied': {
      const { call_id, by, reason } = event.data
      const text = `${excerpt(by)} refused ${askedOf(call_id, around)}${reason.trim() === '' ? '.' : `. Why: ${excerpt(reason)}`}`
      return told({ type: 'client', id: excerpt(by), name: excerpt(by) }, text, 'failed', 'approval', { call_id })
    }
    case 'workspace_files_checked': {
      const { files } = event.data
      const there = files.filter((file) => file.found === 'file').length
      const text = `${around.agentName} was to leave ${counted(files.length, 'file')} in the workspace: ${there} ${there === 1 ? 'is' : 'are'} there.`
      return told(agent, text, there === files.length ? 'done' : 'failed', 'evidence', {
        files: files.slice(0, 20).map((file) => ({ ...file, path: excerpt(file.path) })),
      })
    }
    case 'run_completed':
      return told(
        agent,
        `${around.agentName} completed ${event.data.tool_iterations === 0 ? 'without a tool' : `after ${counted(event.data.tool_iterations, 'tool iteration')}`}.`,
        'done',
        'run',
      )
    case 'run_failed':
      return told(agent, `${around.agentName} failed${because(event.data.failure)}`, 'failed', 'run', { failure_class: event.data.failure.class })
    case 'run_cancelled':
      return told(agent, `${around.agentName} was cancelled: ${excerpt(event.data.reason)}`, 'cancelled', 'run')
    case 'run_restarted':
      return told(agent, `${around.agentName} was restarted (restart ${event.data.restarts})${because(event.data.failure)}`, 'done', 'run', {
        failure_class: event.data.failure.class,
      })
    case 'task_team_run_started': {
      const { team_run_id, call_id, graph, concurrent_nodes_max } = event.data
      const text = `Team run started: ${graph.workflow} with ${counted(graph.nodes.length, 'node')}${kindsOf(graph.nodes)}.`
      return told({ type: 'team', id: team_run_id, name: graph.workflow }, text, 'started', 'team', { team_run_id, call_id, concurrent_nodes_max })
    }
    case 'node_started': {
      const { input, ...of } = event.data
      const given = input === null ? '' : ` with its own ${excerpt(Object.keys(input).join(', '))}`
      return told(node(of.node_id), `Node ${of.node_id} started${given}.`, 'started', 'node', { ...of })
    }
    case 'node_computed': {
      const { output, ...of } = event.data
      return told(node(of.node_id), `Node ${of.node_id} was computed: ${excerpt(output) || 'an empty text'}`, 'done', 'node', { ...of })
    }
    case 'node_skipped': {
      const { reason, ...of } = event.data
      return told(node(of.node_id), `Node ${of.node_id} was skipped: ${excerpt(reason)}`, 'skipped', 'node', { ...of })
    }
    case 'graph_extended': {
      const { team_run_id, node_id, nodes, edges } = event.data
      const names = nodes.map((each) => each.node_id)
      const text =
        nodes.length === 0
          ? `The graph got ${counted(edges.length, 'more edge')} after ${node_id}.`
          : `The graph grew by ${counted(nodes.length, 'node')} after ${node_id}: ${excerpt(names.join(', '))}.`
      return told(team(team_run_id), text, 'done', 'team', { team_run_id, node_id, added: names.slice(0, 20), added_count: names.length })
    }
    case 'node_evidence_evaluated': {
      const { node_id, passed, checks, team_run_id } = event.data
      const of = (status: string): number => checks.filter((check) => check.status === status).length
      const text = `Evidence of node ${node_id} ${passed ? 'accepted' : 'refused'}: ${of('passed')} passed, ${of('failed')} failed, ${of('not_checked')} not checked.`
      return told(node(node_id), text, passed ? 'done' : 'failed', 'evidence', { team_run_id, node_id })
    }
    case 'node_completed':
      return told(node(event.data.node_id), `Node ${event.data.node_id} completed.`, 'done', 'node', { ...event.data })
    case 'node_failed': {
      const { failure, ...of } = event.data
      return told(node(of.node_id), `Node ${of.node_id} failed${because(failure)}`, 'failed', 'node', { ...of, failure_class: failure.class })
    }
    case 'node_blocked':
      return told(node(event.data.node_id), `Node ${event.data.node_id} is blocked: node ${event.data.cause_node_id} did not complete.`, 'blocked', 'node', {
        ...event.data,
      })
    case 'node_cancel_requested': {
      const { reason, ...of } = event.data
      return told(node(of.node_id), `Cancellation of node ${of.node_id} was requested: ${excerpt(reason)}`, 'done', 'node', { ...of })
    }
    case 'node_cancelled':
      return told(node(event.data.node_id), `Node ${event.data.node_id} was cancelled: ${excerpt(event.data.reason)}`, 'cancelled', 'node')
    case 'team_diagnostic_recorded': {
      const { code, message, ...of } = event.data
      return told(node(of.node_id), `Noted about node ${of.node_id} (${excerpt(code)}): ${excerpt(message)}`, 'done', 'diagnostic', {
        ...of,
        code: excerpt(code),
      })
    }
    case 'shared_state_changed': {
      const { team_run_id, change } = event.data
      return told(agent, `${around.agentName} ${changed(change)}`, 'done', 'shared_state', { team_run_id, action: change.action, path: pathOf(change) })
    }
    case 'task_team_run_completed':
      return told(team(event.data.team_run_id), `Team run completed${progress}.`, 'done', 'team', { ...event.data })
    case 'task_team_run_failed': {
      const { outcome, message, team_run_id } = event.data
      const said = /^\d+ of \d+ nodes? completed/.test(message) ? `: ${excerpt(message, 300)}` : `${progress}. ${excerpt(message)}`
      const text = `Team run ${outcome === 'cancelled' ? 'was cancelled' : 'ended incomplete'}${said}`
      return told(team(team_run_id), text.trimEnd(), outcome === 'cancelled' ? 'cancelled' : 'failed', 'team', { team_run_id, outcome })
    }
    default:
      return event satisfies never
  }
}

function told(actor: Told['actor'], text: string, status: Told['status'], timelineType: string, metadata: JsonObject = {}): Told {
  return { actor, text, status, metadata: { ...metadata, timeline_type: timelineType } }
}

/** For example ` (3 agents, 1 tool, 2 computed)`. Empty if all nodes are agents. */
function kindsOf(nodes: readonly ExecutionNode[]): string {
  const of = (kind: ExecutionNode['kind']): number => nodes.filter((each) => each.kind === kind).length
  if (of('agent') === nodes.length) return ''
  const parts = [of('agent') && counted(of('agent'), 'agent'), of('tool') && counted(of('tool'), 'tool call'), of('code') && `${of('code')} computed`]
  return ` (${parts.filter((part) => part !== 0).join(', ')})`
}

/** The message of a failed call. If the content is JSON with a message, only the message. */
function messageIn(content: string): string {
  try {
    const { message } = JSON.parse(content) as { message?: unknown }
    return typeof message === 'string' && message.trim() !== '' ? message : content
  } catch {
    return content
  }
}

const pathOf = ({ path }: SharedStateChange): string => excerpt(typeof path === 'string' ? path : path.join('.'))

function changed(change: SharedStateChange): string {
  const path = pathOf(change)
  switch (change.action) {
    case 'set':
      return `set ${path} in the shared state: ${excerpt(JSON.stringify(change.value))}`
    case 'increment':
      return `added ${change.by} to ${path} in the shared state.`
    case 'append':
      return `appended to ${path} in the shared state: ${excerpt(JSON.stringify(change.value))}`
    case 'delete':
      return `deleted ${path} from the shared state.`
    default:
      return change satisfies never
  }
}

/** For example `run_command (rm -rf build)`. If nothing more is known of the call, its id. */
const askedOf = (callId: string, { asked }: Surroundings): string =>
  asked === null ? `the call ${excerpt(callId)}` : `${excerpt(asked.tool)} (${excerpt(asked.subject)})`

const tokensOf = ({ input_tokens, output_tokens }: Usage): JsonObject => ({ input_tokens, output_tokens })

const because = (failure: Failure | null): string => (failure === null ? '.' : ` (${failure.class}): ${excerpt(failure.message)}`)

const usageOf = ({ usage, simulated }: { usage: JsonObject; simulated: boolean }): JsonObject => ({ ...usage, simulated })
