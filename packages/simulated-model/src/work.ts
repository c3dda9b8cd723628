// A worker's habit: it calls the tools that the instruction names, in this order, each with every example,
// and then writes up their results. A root agent whose text names one of its tools works in the same way.
import { type ToolSchema, toolNameAtProvider } from '@beaver/agent'
import { argumentsFrom } from './arguments.ts'
import { failureIn, parseJson } from './conversation.ts'
import { report, teamIn } from './guidance.ts'
import {
  callTools,
  type Conversation,
  type Habit,
  type MadeCall,
  say,
  type SimulatedReply,
  type WorkOrder,
} from './habit.ts'
import { type Known, readKnown } from './known.ts'
import { type NamedTool, namedTools } from './named-tools.ts'
import { tellingFiles } from './telling-files.ts'
import { writeUp } from './write-up.ts'

export const work: Habit = (conversation) => {
  const order = conversation.order ?? ownOrder(conversation)
  if (order === null) return null
  const known = readKnown(order, conversation.calls)
  for (const { tool, examples } of offered(wanted(order), conversation)) {
    if (conversation.calls.some((call) => call.name === tool.name)) continue
    const calls = argumentsFor(tool, examples, { order, known, conversation }).map((args) => ({
      name: tool.name,
      args,
    }))
    if (calls.length > 0) return callTools(conversation, calls)
  }
  const only =
    conversation.order === null && conversation.calls.length === 1 ? conversation.calls[0] : undefined
  return (only === undefined ? null : passOn(only)) ?? say(writeUp(order, conversation.calls, known))
}

/**
 * The answer of a root agent whose only call was a workflow: the workflow's result, which is already written.
 */
function passOn(made: MadeCall): SimulatedReply | null {
  if (made.result === null || failureIn(made.result) !== null) return null
  if (teamIn(made.result) !== null) return report(made)
  return parseJson(made.result) === undefined ? say(`${made.result}\n\n${passedOn}`) : null
}

const passedOn = "Passed on as it is by Beaver's simulated model, which cannot reason about it."

/**
 * The order of a root agent that must use one of its tools: from the user, from its own configuration, or
 * from an activated skill without a team.
 */
function ownOrder(conversation: Conversation): WorkOrder | null {
  const { userText, own } = conversation
  const skills = conversation.skills
    .map(({ body }) => body)
    .filter((body) => !body.includes('```beaver-team-workflow'))
  const order: WorkOrder = {
    task: userText,
    instruction: [userText, own, ...skills].filter((text) => text !== '').join('\n\n'),
    dependencies: [],
    evidence: '',
  }
  return offered(namedTools(order.instruction), conversation).length === 0 ? null : order
}

/** The tools that an instruction names, then those that its evidence requires. */
function wanted({ instruction, evidence }: WorkOrder): NamedTool[] {
  const named = namedTools(instruction)
  const required = [...evidence.matchAll(/^- The tool ([\w-]{1,64}) must be called/gm)].map(
    ([, name = '']) => name,
  )
  return [
    ...named,
    ...[...new Set(required)]
      .filter((name) => named.every((each) => each.name !== name))
      .map((name) => ({ name, examples: [] })),
  ]
}

function offered(
  named: readonly NamedTool[],
  { tools }: Conversation,
): { tool: ToolSchema; examples: NamedTool['examples'] }[] {
  return named.flatMap(({ name, examples }) => {
    const tool = tools.find((each) => each.name === toolNameAtProvider(name))
    return tool === undefined ? [] : [{ tool, examples }]
  })
}

interface Situation {
  readonly order: WorkOrder
  readonly known: Known
  readonly conversation: Conversation
}

/** The arguments of each call. Empty if there is nothing to call the tool for. */
function argumentsFor(
  tool: ToolSchema,
  examples: NamedTool['examples'],
  { order, known, conversation }: Situation,
): Record<string, unknown>[] {
  const folder = known.stats?.path ?? known.folder?.path
  switch (tool.name) {
    case 'read_file':
      if (examples.length > 0 || known.list === null) break
      return tellingFiles(known.list).map((path) => ({ path, bytes_max: 16_384 }))
    case 'file_stats':
      return examples.length > 0 ? [...examples] : [folder === undefined ? {} : { path: folder }]
    case 'recount_files':
      return [
        {
          ...(folder === undefined ? {} : { path: folder }),
          ...(known.stats === null ? {} : { expected: known.stats.totals }),
          ...examples[0],
        },
      ]
  }
  return examples.length > 0 ? [...examples] : argumentsFrom(tool, order, conversation.calls)
}
