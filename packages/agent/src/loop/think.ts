// Makes the model call of a turn: it builds the request and decides what follows from the answer. A recorded
// answer is not requested again. When the iterations are used up, the model is asked once more, without
// tools, to answer from what it knows. The answer is kept, and the run fails (SCH-07). The request follows
// from the run's record alone, so a run that is resumed sends the same request.
import { BeaverError, type ChatMessage, type DataOf, event, type RunState, type ToolCall } from '@beaver/core'
import { conversation } from '../context/context-builder.ts'
import { refersToTeamOutput, rootTeamOutput } from '../tools/team-output.ts'
import { routingOf } from './activation.ts'
import {
  askProvider,
  type Asked,
  hasNoRoom,
  tokensTooMany,
  type Question,
  tryFailed,
} from './ask-provider.ts'
import { authorise, type Authorisation, authorityOf } from './authorise.ts'
import { afterAnswer, afterForcedAnswer, afterRepairedAnswer } from './decide.ts'
import { callKind } from './call-order.ts'
import { describedWork } from './described-work.ts'
import type { AskedProviders } from '../provider/provider-bundle.ts'
import { briefTool } from '../tools/brief-parameters.ts'
import { meantCall, throughUseTool } from '../tools/further-tools.ts'
import { type LoopWork, providersOf } from './loop-work.ts'
import { withPureResults } from './pure-calls.ts'
import { afterToolNode, notLoaded, providerFailed, runCancelled } from './run-ends.ts'
import { cancelReason } from './cancel-reason.ts'
import { showCall } from './show-call.ts'
import { steerMessages } from './steers.ts'
import { surplusImages } from '../images/surplus-images.ts'
import { shortenConversation } from './shorten-conversation.ts'

const forcedMessage: ChatMessage = {
  role: 'user',
  content:
    'You have used all of your tool iterations and cannot call tools any more. Answer now from what you know, and say what is missing.',
}

export async function think(work: LoopWork, entered: RunState): Promise<void> {
  if (work.signal.aborted) return cancel(work)
  if (work.spec.part.kind === 'tool') return work.record(afterToolNode(entered, resultOfToolNode(work)))
  const { profileMissing, skillMissing } = work.assembly
  if (profileMissing !== null) return work.record(notLoaded(entered, 'profile', profileMissing))
  // A run that is resumed has the skill that it began with.
  if (skillMissing !== null && entered.skills.length === 0)
    return work.record(notLoaded(entered, 'skill', skillMissing))
  const providers = providersOf(work)
  if (providers === null) return work.record(notLoaded(entered, 'model', work.start.model ?? ''))
  const forced = entered.toolIterations >= entered.start.max_tool_iterations
  for (;;) {
    const steered = steerMessages(work.run(), work.host.steers?.() ?? [])
    if (steered.length > 0) await work.record(steered)
    const surplus = surplusImages(work.run())
    if (surplus !== null)
      await work.record([event('context_compacted', { results: [], images: surplus }, work.start.run_id)])
    const run = work.run()
    const question = questionOf(work, run, { forced, providers })
    if (
      hasNoRoom(work, question, providers.main) &&
      (await shortenConversation(work, tokensTooMany(work, question)))
    )
      continue
    const asked = await askProvider(work, question)
    switch (asked.kind) {
      case 'answered':
        if (forced)
          return work.record(afterForcedAnswer(run, asked.answer, { ...asked, isTool: work.isTool }))
        if (run.repairing)
          return work.record(
            afterRepairedAnswer(run, asked.answer, {
              ...asked,
              isTool: work.isTool,
              completesLater: work.files.length > 0,
            }),
          )
        return work.record(await withPureResults(work, await answered(work, run, asked)))
      case 'cancelled':
        return cancel(work)
      case 'given_up': {
        if (
          asked.error.class === 'context_overflow' &&
          (await shortenConversation(work, tokensTooMany(work, question)))
        ) {
          // An answer that filled the window is paid, although it is asked for again.
          if (asked.last.error.paid !== null)
            await work.record([tryFailed(work, asked.last, { tries: asked.tries, retryInMs: null })])
          continue
        }
        if (work.signal.aborted) return cancel(work)
        return work.record(providerFailed(work.run(), asked))
      }
      default:
        return asked satisfies never
    }
  }
}

function questionOf(
  work: LoopWork,
  run: RunState,
  { forced, providers }: { forced: boolean; providers: AskedProviders },
): Question {
  const { assembly, spec } = work
  const messages = conversation(run, spec.history)
  const assembled = run.executionMode === 'single' ? assembly.lockedSchemas : assembly.schemas
  const tools =
    spec.part.kind === 'root' && refersToTeamOutput(run)
      ? [...assembled, briefTool(rootTeamOutput)]
      : assembled
  return {
    providers,
    messages: throughUseTool(forced ? [...messages, forcedMessage] : messages, assembly.further),
    // A repair needs no tool, and without tools more endpoints write by a schema.
    tools: forced || run.repairing ? [] : tools,
    settings: run.start.model_settings,
    output:
      run.start.output_schema === undefined ? undefined : { name: 'output', schema: run.start.output_schema },
    live: true,
  }
}

async function answered(
  work: LoopWork,
  run: RunState,
  { answer: given, provider, durationMs }: Extract<Asked, { kind: 'answered' }>,
) {
  const { assembly, services, spec } = work
  const answer = { ...given, toolCalls: given.toolCalls.map((call) => meantCall(call, assembly.further)) }
  const authority = authorityOf(run, work)
  const keyOf = ({ name, arguments: args }: ToolCall): string => `${name} ${args}`
  const shown = new Map<string, Authorisation>()
  await Promise.all(
    answer.toolCalls.map(async (call) => {
      const described = await describedWork(work, call)
      // The run was cancelled meanwhile, and so is the call.
      if (described === null) return shown.set(keyOf(call), { kind: 'unknown' })
      const given = authorise(call, described === work ? authority : authorityOf(run, described))
      return given.kind === 'ask' || described !== work
        ? shown.set(keyOf(call), await showCall(described, call, given))
        : shown
    }),
  )
  return afterAnswer(run, answer, {
    taskId: spec.taskId,
    provider,
    durationMs,
    routing: routingOf(run, assembly, services.skills),
    authorise: (call: ToolCall): Authorisation => shown.get(keyOf(call)) ?? authorise(call, authority),
    kindOf: (name) => callKind(assembly, name),
    isTool: work.isTool,
    completesLater: work.files.length > 0,
  })
}

/** In a tool node, the machine enters `thinking` only when the one call has a result. */
function resultOfToolNode(work: LoopWork): DataOf<'tool_result_recorded'> {
  const result = work.lastResult()
  if (result === null)
    throw new BeaverError('internal', `The tool node ${work.start.run_id} ends without a result of its call.`)
  return result
}

const cancel = (work: LoopWork): Promise<void> =>
  work.record([runCancelled(work.run(), cancelReason(work.signal))])
