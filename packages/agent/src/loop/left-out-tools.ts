// Tools that a run asks a provider without, because the provider refuses their schemas. Otherwise one such
// schema would fail every run. That a tool is left out is durable before the request without it, so a run
// that is resumed sends the same request. What one run learned holds for the later runs of its thread, for as
// long as the thread has the same tools.
import { type DataOf, event } from '@beaver/core'
import type { ChatProvider, ToolSchema } from '../provider/chat-provider.ts'
import type { LoopWork } from './loop-work.ts'

type LeftOutTool = DataOf<'tools_left_out'>['tools'][number]

/** More refusals of one provider end the try. */
const leftOutMax = 64
/** What a thread remembers. The oldest is forgotten first, and is learned again by one refusal. */
const rememberedMax = 1_000
const remembered = new WeakMap<object, Map<string, string>>()

/** The tools for a request to the provider. */
export async function toolsFor(
  work: LoopWork,
  provider: ChatProvider,
  tools: readonly ToolSchema[],
): Promise<readonly ToolSchema[]> {
  const known = memoryOf(work)
  const left = tools.flatMap((tool): LeftOutTool[] => {
    const reason = known.get(keyOf(provider, tool.name))
    return reason === undefined || isLeftOut(work, provider, tool.name) ? [] : [{ name: tool.name, reason }]
  })
  if (left.length > 0) await record(work, provider, left)
  return tools.some(({ name }) => isLeftOut(work, provider, name))
    ? tools.filter(({ name }) => !isLeftOut(work, provider, name))
    : tools
}

/**
 * Leaves the tools out of all later requests to the provider. Returns `false` if that would not change the
 * request.
 */
export async function leaveOut(
  work: LoopWork,
  provider: ChatProvider,
  sent: readonly ToolSchema[],
  refused: readonly LeftOutTool[],
): Promise<boolean> {
  const left = refused.filter(({ name }) => sent.some((tool) => tool.name === name))
  if (left.length === 0 || namesOf(work, provider).length + left.length > leftOutMax) return false
  const known = memoryOf(work)
  for (const { name, reason } of left) {
    known.set(keyOf(provider, name), reason)
    if (known.size > rememberedMax) known.delete(known.keys().next().value as string)
    const message = `The provider ${provider.name} refuses the schema of the tool ${name}. Agents do not have this tool there. It says: ${reason}`
    work.services.logger?.warn('tool_left_out', message, { provider: provider.name, tool: name, reason })
  }
  await record(work, provider, left)
  return true
}

const record = (work: LoopWork, provider: ChatProvider, tools: LeftOutTool[]): Promise<void> =>
  work.record([event('tools_left_out', { provider_name: provider.name, tools }, work.start.run_id)])

function namesOf(work: LoopWork, { name }: ChatProvider): readonly string[] {
  const { toolsLeftOut } = work.run()
  return Object.hasOwn(toolsLeftOut, name) ? (toolsLeftOut[name] ?? []) : []
}

const isLeftOut = (work: LoopWork, provider: ChatProvider, tool: string): boolean =>
  namesOf(work, provider).includes(tool)
const keyOf = ({ name, model }: ChatProvider, tool: string): string => JSON.stringify([name, model, tool])

function memoryOf({ services }: LoopWork) {
  const owner = services.toolboxesOf ?? services
  const known = remembered.get(owner) ?? new Map<string, string>()
  remembered.set(owner, known)
  return known
}
