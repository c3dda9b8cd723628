// Tells the events of a run: what an agent was given, what it asked models and tools, and what came of it.
import { amountText, noPlaceText } from '../budget/amounts.ts'
import type { Usage } from '../chat.ts'
import { visible } from '../hidden-characters.ts'
import type { QuestionAnswer } from '../question/question.ts'
import { faultsText } from '../evidence/output-text.ts'
import type { ImagePart } from '../images/image-part.ts'
import { imageText } from '../images/image-measures.ts'
import type { JsonObject } from '../json.ts'
import { counted, excerpt, sentence, spanOf } from './text.ts'
import { because, forAgent, ofAgent, ofPerson, type Surroundings, type Teller } from './told.ts'

type RunEvent =
  | 'run_started'
  | 'tool_scope_applied'
  | 'tools_left_out'
  | 'skill_selection_recorded'
  | 'skill_activation_snapshotted'
  | 'system_prompt_snapshotted'
  | 'user_message_added'
  | 'execution_mode_selected'
  | 'provider_call_failed'
  | 'model_call_reserved'
  | 'model_call_lost'
  | 'model_call_paid'
  | 'budget_exceeded'
  | 'context_compacted'
  | 'context_summarized'
  | 'summary_refused'
  | 'assistant_message_added'
  | 'output_rejected'
  | 'tool_call_requested'
  | 'approval_requested'
  | 'approval_granted'
  | 'approval_denied'
  | 'question_asked'
  | 'question_answered'
  | 'client_call_requested'
  | 'client_call_answered'
  | 'tool_call_started'
  | 'tool_result_recorded'
  | 'workspace_files_checked'
  | 'run_completed'
  | 'run_failed'
  | 'run_cancelled'
  | 'run_restarted'

export const tellRun: { readonly [T in RunEvent]: Teller<T> } = {
  run_started({ tools, attempt_index, node_id }, around) {
    const { nodeTool } = around
    const what =
      nodeTool === null
        ? `started with ${counted(tools.length, 'tool')}.`
        : `started: one call of the tool ${excerpt(nodeTool)}.`
    // The call of a tool node is told next.
    return ofAgent(around, what, {
      status: 'started',
      group: 'run',
      news: nodeTool === null,
      metadata: { attempt_index, node_id },
    })
  },
  tool_scope_applied({ effective, dropped }, around) {
    const without = dropped.length === 0 ? '' : `; not available: ${excerpt(dropped.join(', '))}`
    return ofAgent(around, `may use ${counted(effective.length, 'tool')}${without}.`, {
      status: 'done',
      group: 'tool',
      news: false,
    })
  },
  tools_left_out({ provider_name, tools }, around) {
    const [first] = tools
    const why = first === undefined ? '' : ` The first reason: ${sentence(excerpt(first.reason))}`
    const what = `goes on without ${excerpt(tools.map(({ name }) => name).join(', '))}, because the provider ${excerpt(provider_name)} refuses ${tools.length === 1 ? 'its schema' : 'their schemas'}.${why}`
    return ofAgent(around, what, {
      status: 'done',
      group: 'tool',
      metadata: { provider_name: excerpt(provider_name), tools: tools.length },
    })
  },
  skill_selection_recorded({ chosen, candidates, recall, failure, model, usage }, around) {
    const among = `${counted(candidates.length, 'candidate')} found by ${recall === 'embedding' ? 'meaning' : 'words'}`
    const what =
      failure !== null
        ? `could choose no skill among ${among}${because(failure)}`
        : candidates.length === 0
          ? 'found no skill that comes into question.'
          : chosen.length === 0
            ? `chose none of ${among} as its skill.`
            : `chose the skill ${excerpt(chosen.join(', '))}, among ${among}.`
    return ofAgent(around, what, {
      status: failure === null ? 'done' : 'failed',
      group: 'skill',
      news: failure !== null || chosen.length > 0,
      metadata: {
        chosen: chosen.slice(0, 10).map((name) => excerpt(name)),
        recall,
        model: model === null ? null : excerpt(model),
        ...tokensOf(usage),
      },
    })
  },
  skill_activation_snapshotted({ skills }, around) {
    const names = skills.map(({ name, from_workspace }) =>
      from_workspace === true ? `${name} (from the workspace)` : name,
    )
    return ofAgent(
      around,
      names.length === 0 ? 'has no skill.' : `has the skill ${excerpt(names.join(', '))}.`,
      {
        status: 'done',
        group: 'skill',
        news: names.length > 0,
        metadata: { skills: skills.slice(0, 20).map(({ name, sha256 }) => ({ name, sha256 })) },
      },
    )
  },
  system_prompt_snapshotted({ content, context }, around) {
    const tokens = context?.reduce((sum, part) => sum + part.tokens_estimated, 0)
    const costs = tokens === undefined ? '' : `; its first prompt is about ${counted(tokens, 'token')}`
    return ofAgent(around, `has its system prompt: ${counted(content.length, 'character')}${costs}.`, {
      status: 'done',
      group: 'context',
      news: false,
      metadata: context === undefined ? {} : { context: context.slice(0, 20).map((part) => ({ ...part })) },
    })
  },
  user_message_added: ({ content, steer_request_id, images }, around) =>
    steer_request_id === undefined
      ? ofAgent(around, `was given: ${excerpt(content)}${shownImages(images)}`, {
          status: 'done',
          group: 'message',
          news: false,
        })
      : ofAgent(around, `was told: ${excerpt(content)}`, {
          status: 'done',
          group: 'message',
          metadata: { steer_request_id },
        }),
  execution_mode_selected({ content: _content, ...payload }) {
    const what = `selected ${payload.execution_mode === 'team' ? 'Team' : 'single-agent'} execution.`
    const root = {
      taskId: payload.task_id,
      runId: null,
      agentName: 'Root agent',
      team: null,
      nodeTool: null,
      asked: null,
      takenOver: false,
    }
    return ofAgent(
      root,
      what,
      { status: 'done', group: 'execution_mode', metadata: payload },
      { type: 'system', id: 'main-agent-router', name: 'Root agent' },
    )
  },
  provider_call_failed({ failure, tries, retry_in_ms, status, provider_name }, around) {
    const next =
      retry_in_ms === null
        ? 'No further try.'
        : retry_in_ms === 0
          ? 'The next model of the route is asked at once.'
          : `Next try in ${spanOf(retry_in_ms)}.`
    const name = provider_name === undefined ? null : excerpt(provider_name)
    const what = `the model call${name === null ? '' : ` to ${name}`} failed (${failure.class}, try ${tries}): ${sentence(excerpt(failure.message))} ${next}`
    return forAgent(around, { type: 'provider', id: around.runId ?? '', name: name ?? 'Provider' }, what, {
      status: 'failed',
      group: 'provider',
      metadata: {
        failure_class: failure.class,
        tries,
        retry_in_ms,
        http_status: status,
        provider_name: name,
      },
    })
  },
  model_call_reserved: ({ model, usd_max }, around) =>
    ofAgent(around, `asks the model ${excerpt(model)}, for at most ${amountText('usd', usd_max)}.`, {
      status: 'started',
      group: 'provider',
      news: false,
    }),
  model_call_lost: ({ model, usage }, around) =>
    ofAgent(
      around,
      `lost its call of the model ${excerpt(model)}, because the process ended. It counts with the most that it can have used.`,
      { status: 'failed', group: 'provider', metadata: { model: excerpt(model), ...tokensOf(usage) } },
    ),
  model_call_paid: ({ purpose, model, usage }, around) =>
    ofAgent(
      around,
      purpose === 'knowledge_search'
        ? `had its query embedded by the model ${excerpt(model)}.`
        : `asked the model ${excerpt(model)} for the choice of its skills.`,
      {
        status: 'done',
        group: 'provider',
        news: false,
        metadata: { model: excerpt(model), ...tokensOf(usage) },
      },
    ),
  budget_exceeded: (data, around) =>
    ofAgent(around, `${data.wait_ms === null ? 'stops' : 'waits'}, because ${excerpt(noPlaceText(data))}.`, {
      status: data.wait_ms === null ? 'failed' : 'waiting',
      group: 'provider',
    }),
  context_compacted(
    {
      results,
      arguments: args = [],
      history_messages_dropped: dropped = 0,
      messages_dropped: cut = 0,
      outputs = [],
      images = [],
    },
    around,
  ) {
    const chars = results.reduce((sum, each) => sum + each.chars, 0)
    const parts = [
      ...(results.length === 0
        ? []
        : [
            `${counted(results.length, 'tool result')} of ${counted(chars, 'character')} became ${results.length === 1 ? 'a reference' : 'references'}`,
          ]),
      ...(args.length === 0 ? [] : [`the arguments of ${counted(args.length, 'call')} were left out`]),
      ...(images.length === 0
        ? []
        : [`${counted(images.length, 'image')} ${images.length === 1 ? 'is' : 'are'} not shown any more`]),
      ...(outputs.length === 0
        ? []
        : [
            `${counted(outputs.length, 'output')} of other nodes ${outputs.length === 1 ? 'was' : 'were'} cut`,
          ]),
      ...(cut === 0
        ? []
        : [
            `${counted(cut, 'message')} of its earlier work ${cut === 1 ? 'is' : 'are'} left out without a summary`,
          ]),
      ...(dropped === 0
        ? []
        : [
            `the oldest ${counted(dropped, 'message')} of the session ${dropped === 1 ? 'is' : 'are'} left out`,
          ]),
    ]
    return ofAgent(
      around,
      `had too long a conversation: ${parts.join(', ') || 'nothing could be left out'}.`,
      {
        status: 'done',
        group: 'context',
        metadata: {
          results: results.length,
          chars,
          history_messages_dropped: dropped,
          messages_dropped: cut,
          outputs_cut: outputs.length,
        },
      },
    )
  },
  context_summarized: ({ messages_dropped, usage, model }, around) =>
    ofAgent(
      around,
      `still had too long a conversation: a summary stands for ${counted(messages_dropped, 'message')} of it.`,
      {
        status: 'done',
        group: 'context',
        metadata: { messages_dropped, model: excerpt(model), ...tokensOf(usage) },
      },
    ),
  summary_refused: ({ reason, usage, model }, around) =>
    ofAgent(around, `got no usable summary of its conversation: ${excerpt(reason)}.`, {
      status: 'failed',
      group: 'context',
      metadata: { reason: excerpt(reason), model: excerpt(model), ...tokensOf(usage) },
    }),
  assistant_message_added(
    { content, tool_calls, usage, model, provider_name, duration_ms, delivered_from },
    around,
  ) {
    if (delivered_from !== undefined)
      return ofAgent(around, `delivered the team's text: ${excerpt(content ?? '')}`, {
        status: 'done',
        group: 'message',
        metadata: { delivered_from },
      })
    const what =
      tool_calls.length > 0
        ? `called ${excerpt(tool_calls.map((call) => call.name).join(', '))}.`
        : `answered: ${excerpt(content ?? '')}`
    return ofAgent(around, what, {
      status: 'done',
      group: 'message',
      metadata: {
        provider_name,
        model,
        duration_ms,
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
      },
    })
  },
  output_rejected: ({ faults, must_call: mustCall }, around) =>
    ofAgent(
      around,
      mustCall === true
        ? 'must answer again, because the task asks for a call of a tool and the answer has none.'
        : `must write its answer again, because it does not fit its JSON Schema: ${sentence(excerpt(faultsText(faults)))}`,
      {
        status: 'waiting',
        group: 'message',
        metadata: { faults: faults.length },
      },
    ),
  tool_call_requested: ({ call }, around) =>
    ofAgent(around, `calls the tool ${excerpt(call.name)}, as its graph says.`, {
      status: 'done',
      group: 'tool',
      metadata: { call_id: call.id },
    }),
  tool_call_started: ({ call_id, tool_name }, around) =>
    forAgent(around, { type: 'tool', id: call_id, name: tool_name }, `${excerpt(tool_name)} started.`, {
      status: 'started',
      group: 'tool',
      news: false,
      metadata: { call_id },
    }),
  tool_result_recorded({ tool_name, success, error, content, duration_ms, call_id, images }, around) {
    const code = error === null ? null : excerpt(error)
    const outcome = success
      ? `succeeded in ${spanOf(duration_ms)}.${shownImages(images)}`
      : `failed${code === null ? '' : ` (${code})`}: ${sentence(excerpt(messageIn(content)))}`
    return forAgent(
      around,
      { type: 'tool', id: call_id, name: tool_name },
      `${excerpt(tool_name)} ${outcome}`,
      {
        status: success ? 'done' : 'failed',
        group: 'tool',
        metadata: { call_id, duration_ms, error: code },
      },
    )
  },
  approval_requested: ({ call_id, tool_name, subject, rule, reason }, around) =>
    ofAgent(
      around,
      `waits until somebody allows ${excerpt(tool_name)}: ${excerpt(subject)}${reason === undefined ? '' : `. Why: ${sentence(excerpt(reason))}`}`,
      {
        status: 'waiting',
        group: 'approval',
        metadata: {
          call_id,
          tool_name,
          rule: rule === null ? null : excerpt(rule),
          ...(reason === undefined ? {} : { reason: excerpt(reason) }),
        },
      },
    ),
  approval_granted: ({ call_id, arguments: args, ...doer }, around) =>
    ofPerson(
      doer,
      `allowed ${askedOf(call_id, around)}${args === undefined ? '.' : `, with these arguments instead: ${excerpt(visible(args, '\n\t\r'))}`}`,
      {
        status: 'done',
        group: 'approval',
        metadata: { call_id, ...(args === undefined ? {} : { arguments: excerpt(args) }) },
      },
    ),
  approval_denied: ({ call_id, reason, ...doer }, around) =>
    ofPerson(
      doer,
      `refused ${askedOf(call_id, around)}${reason.trim() === '' ? '.' : `. Why: ${sentence(excerpt(reason))}`}`,
      {
        status: 'failed',
        group: 'approval',
        metadata: { call_id },
      },
    ),
  question_asked({ call_id, tool_name, question_index, question: { message, options = [] } }, around) {
    const choices = options.length === 0 ? '' : ` (${excerpt(options.join(' | '))})`
    return ofAgent(around, `asks you: ${excerpt(message)}${choices}`, {
      status: 'waiting',
      group: 'question',
      metadata: { call_id, tool_name, question_index },
    })
  },
  question_answered: ({ call_id, question_index, answer, reason, ...doer }) =>
    ofPerson(
      doer,
      `${answerText(answer)}${reason === undefined || reason.trim() === '' ? '' : ` ${sentence(excerpt(reason))}`}`,
      {
        status: answer.action === 'accept' ? 'done' : 'failed',
        group: 'question',
        metadata: { call_id, question_index, action: answer.action },
      },
    ),
  client_call_requested: ({ call_id, tool_name }, around) =>
    ofAgent(around, `waits for its client to call ${excerpt(tool_name)}.`, {
      status: 'waiting',
      group: 'client',
      metadata: { call_id, tool_name },
    }),
  client_call_answered: ({ call_id, content, error, ...doer }) =>
    ofPerson(
      doer,
      error === undefined
        ? `answered for the client: ${excerpt(content)}`
        : `said for the client that the call failed: ${sentence(excerpt(error))}`,
      {
        status: error === undefined ? 'done' : 'failed',
        group: 'client',
        metadata: { call_id },
      },
    ),
  workspace_files_checked({ files }, around) {
    const there = files.filter((file) => file.found === 'file').length
    const what = `was to leave ${counted(files.length, 'file')} in the workspace: ${there} ${there === 1 ? 'is' : 'are'} there.`
    return ofAgent(around, what, {
      status: there === files.length ? 'done' : 'failed',
      group: 'evidence',
      metadata: { files: files.slice(0, 20).map((file) => ({ ...file, path: excerpt(file.path) })) },
    })
  },
  // The end of a run that goes well is told by what the node or the task says next.
  run_completed: ({ tool_iterations }, around) =>
    ofAgent(
      around,
      `completed ${tool_iterations === 0 ? 'without a tool' : `after ${counted(tool_iterations, 'tool iteration')}`}.`,
      {
        status: 'done',
        group: 'run',
        news: false,
      },
    ),
  run_failed: ({ failure }, around) =>
    ofAgent(around, `failed${because(failure)}`, {
      status: 'failed',
      group: 'run',
      metadata: { failure_class: failure.class },
    }),
  run_cancelled: ({ reason }, around) =>
    ofAgent(around, `was cancelled: ${sentence(excerpt(reason))}`, { status: 'cancelled', group: 'run' }),
  run_restarted: ({ failure, restarts }, around) =>
    ofAgent(around, `was started again from the journal (restart ${restarts})${because(failure)}`, {
      status: 'done',
      group: 'run',
      metadata: { failure_class: failure.class },
    }),
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

/** For example `answered: main`. */
function answerText({ action, answers, content }: QuestionAnswer): string {
  switch (action) {
    case 'accept':
      return `answered: ${excerpt(answers === undefined ? JSON.stringify(content ?? {}) : answers.join(', '))}`
    case 'decline':
      return 'declined to answer.'
    case 'cancel':
      return 'did not answer.'
    default:
      return action satisfies never
  }
}

/** For example `run_command (rm -rf build)`. If nothing more is known of the call, its id. */
const askedOf = (callId: string, { asked }: Surroundings): string =>
  asked === null ? `the call ${excerpt(callId)}` : `${excerpt(asked.tool)} (${excerpt(asked.subject)})`

const tokensOf = ({ input_tokens, output_tokens }: Usage): JsonObject => ({ input_tokens, output_tokens })

const shownImages = (images: readonly ImagePart[] = []): string =>
  images.map((image) => ` [${excerpt(imageText(image))}]`).join('')
