// The words for the state of a task, a run, a node or a team. A state has one word on every screen: in the
// terminal, in the console and in chats. Programs get the state itself.

const words: Readonly<Record<string, string>> = {
  waiting_for_person: 'asks you',
  waiting_for_approval: 'asks you',
  waiting_for_answer: 'asks you',
  waiting_for_budget: 'waits for a budget',
  waiting_for_provider: 'waits for a provider',
  waiting_for_limit: 'waits for a limit',
  waiting_for_client: 'waits for its client',
  // Of a team.
  complete: 'completed',
}

/**
 * The word for a state. A state without a word of its own is its own word.
 *
 * @example
 * statusWord('waiting_for_answer') // => 'asks you'
 * statusWord('completed') // => 'completed'
 */
export const statusWord = (status: string): string => words[status] ?? status.replaceAll('_', ' ')

/**
 * The state of a task for a list. A task of which a call waits asks for a person, even while a daemon drives it.
 *
 * @example taskStatus({ status: 'running', waiting: 1 }) // => 'waiting_for_person'
 */
export const taskStatus = ({
  status,
  waiting,
}: {
  readonly status: string
  readonly waiting: number
}): string => (waiting > 0 ? 'waiting_for_person' : status)
