// What waits for a person in a chat: as this process follows it, and otherwise as the read model knows it.
// Who takes a chat over knows what waits there before it follows the tasks itself. What this process has
// followed to its end does not wait, also if the read model is late.
import type { BeaverClient } from '@beaver/client'
import { agentAsks } from '@beaver/core'
import type { Waiting } from './answers.ts'
import type { ChatCalls } from './chat-calls.ts'
import type { ChatQuestions } from './chat-questions.ts'
import { type AskedCall, codeOf, questionCodeOf } from './message-ids.ts'

const waitingMax = 200
const followedMax = 10_000

export class ChatWaits {
  readonly #client: Pick<BeaverClient, 'query'>
  readonly #calls: ChatCalls
  readonly #questions: ChatQuestions
  /**
   * The codes of the calls and questions that this process follows, has followed to their end, or has
   * settled.
   */
  readonly #followed = new Set<string>()

  constructor(
    client: Pick<BeaverClient, 'query'>,
    { calls, questions }: { readonly calls: ChatCalls; readonly questions: ChatQuestions },
  ) {
    this.#client = client
    this.#calls = calls
    this.#questions = questions
  }

  /** From now on, the read model is not asked whether it waits. */
  follow(code: string): void {
    this.#followed.add(code)
    if (this.#followed.size > followedMax)
      this.#followed.delete(this.#followed.values().next().value as string)
  }

  /** This process does not know any more what becomes of it. */
  lose(code: string): void {
    this.#followed.delete(code)
  }

  /** What waits, as far as this process follows it. */
  here(session: string): readonly Waiting[] {
    return [
      ...this.#calls.inChat(session).map((call) => ofCall(call)),
      ...this.#questions.inChat(session).map(({ task_id, code, open }): Waiting => ({
        kind: 'question',
        task_id,
        code,
        what: open.question.message,
        forAll: agentAsks(open),
      })),
    ]
  }

  /** What waits, whoever follows it. @throws {BeaverError} the codes of a query */
  async anywhere(session: string): Promise<readonly Waiting[]> {
    const here = this.here(session)
    if (here.length > 0) return here
    const [calls, { questions }] = await Promise.all([
      this.calls(session),
      this.#client.query('questions', { session_id: session, limit: waitingMax }),
    ])
    const asked = questions.map((each): Waiting => {
      const code = questionCodeOf({ ...each, index: each.question_index })
      return { kind: 'question', task_id: each.task_id, code, what: each.message, forAll: agentAsks(each) }
    })
    return [...calls.map((call) => ofCall({ ...call, code: codeOf(call) })), ...asked].filter(
      ({ code }) => !this.#followed.has(code),
    )
  }

  /** The calls that wait, as the read model knows them. @throws {BeaverError} the codes of a query */
  async calls(session: string) {
    return (await this.#client.query('approvals', { session_id: session, limit: waitingMax })).calls
  }
}

const ofCall = ({
  task_id,
  code,
  tool,
  subject,
}: Pick<AskedCall, 'task_id'> & { readonly code: string; readonly tool: string; readonly subject: string }) =>
  ({ kind: 'call', task_id, code, what: `${tool}: ${subject}`, forAll: false }) as const satisfies Waiting
