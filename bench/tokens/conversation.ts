// What was said in a run of Beaver, so that other frameworks can have the same conversations: the same tasks,
// calls, results and answers.
import type { Exchange, Turn } from './recorder.ts'

export interface Conversation {
  /** The message of the user or of the team. It tells one agent from the other. */
  readonly message: string
  readonly tools: readonly string[]
  readonly turns: readonly Turn[]
  /** The results of all calls, in order. */
  readonly results: readonly string[]
}

/**
 * The conversations of a run, one for each agent. An agent that only calls a team is left out: another
 * framework has code in its place.
 */
export function conversationsOf(
  exchanges: readonly Exchange[],
  isTeam: (tool: string) => boolean,
): Conversation[] {
  const groups = new Map<string, Exchange[]>()
  for (const exchange of exchanges) {
    const message = taskOf(exchange)
    groups.set(message, [...(groups.get(message) ?? []), exchange])
  }
  return [...groups]
    .filter(([, all]) => !all.some(({ turn }) => turn.calls.some(({ name }) => isTeam(name))))
    .map(([message, all]) => ({
      message,
      tools: (all[0]?.request.tools ?? []).map((tool) => tool.function.name).filter((name) => !isTeam(name)),
      turns: all.map(({ turn }) => turn),
      results: (all.at(-1)?.request.messages ?? [])
        .filter(({ role }) => role === 'tool')
        .map(({ content }) => String(content)),
    }))
}

/** The turn that comes next in the conversation to which the request belongs. */
export function nextTurn(
  conversations: readonly Conversation[],
  messages: Exchange['request']['messages'],
): Turn {
  const asked = textOf(messages.find(({ role }) => role === 'user')?.content)
  const conversation = conversations.find(({ message }) => message === asked)
  const turn = conversation?.turns[messages.filter(({ role }) => role === 'assistant').length]
  if (turn === undefined) throw new Error(`No conversation goes on after ${asked.slice(0, 200)}`)
  return turn
}

const taskOf = ({ request }: Exchange): string =>
  textOf(request.messages.findLast(({ role }) => role === 'user')?.content)

function textOf(content: unknown): string {
  if (Array.isArray(content)) return content.map((part) => (part as { text?: string }).text ?? '').join('')
  return typeof content === 'string' ? content : ''
}
