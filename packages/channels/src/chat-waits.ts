// What waits for a person in a chat, and who may answer.
// - For the tasks that this process follows, it knows what waits from their events. For all other tasks it
//   asks the read model, for example after it took a chat over from another process. The read model may be
//   late, so a call or question that this process saw settled counts as settled.
// - A question can be answered only in the chat whose message became its task.
// - The user of the task, or an approver, may answer what an agent asks. Only an approver may answer what
//   another tool asks, because the answer may permit something.
// - If exactly one question waits for a person, their next message is the answer, whichever process asked the
//   question.
import type { BeaverClient } from '@beaver/client'
import { type InboundMessage, questionIn } from '@beaver/contracts'
import {
  agentAsks,
  budgetAsks,
  newTaskView,
  type OpenQuestion,
  readTaskView,
  type TaskView,
} from '@beaver/core/task-view'
import type { Waiting } from './answers.ts'
import type { ChannelSettings } from './channel.ts'
import { type ChatQuestion, chatQuestion } from './chat-questions.ts'
import {
  budgetCodeOf,
  codeOf,
  type NamedCall,
  namedCall,
  type NamedMessage,
  questionCodeOf,
  sessionIdOf,
  taskIdOf,
} from './message-ids.ts'

/** The writer of a message, and the chat. */
type Person = Pick<InboundMessage, 'channel' | 'chat_id' | 'user'>

interface FollowedTask {
  readonly task_id: string
  readonly session: string
  /** The user of the task. `null`: none. */
  readonly user: string | null
  readonly view: TaskView
}

const waitingMax = 200
const followedMax = 10_000

export class ChatWaits {
  readonly #client: Pick<BeaverClient, 'query' | 'events'>
  readonly #tasks = new Map<string, FollowedTask>()
  /**
   * The codes of calls and questions whose state this process knows better than the read model: it follows
   * them now, followed them to their end, or settled them.
   */
  readonly #followed = new Set<string>()

  constructor(client: Pick<BeaverClient, 'query' | 'events'>) {
    this.#client = client
  }

  /**
   * Records that this process follows the task of a message. The caller must update the returned view with
   * each event.
   */
  followTask(message: InboundMessage, { user_id }: Pick<ChannelSettings, 'user_id'>): TaskView {
    const [task_id, session, view] = [taskIdOf(message), sessionIdOf(message), newTaskView()]
    this.#tasks.set(task_id, { task_id, session, user: user_id ?? message.user.user_id, view })
    return view
  }

  forgetTask(message: NamedMessage): void {
    this.#tasks.delete(taskIdOf(message))
  }

  /** Whether this process follows the task of a message. */
  followsTask(message: NamedMessage): boolean {
    return this.#tasks.has(taskIdOf(message))
  }

  /** Whether the task of a message waits for a person now. `false` if this process does not follow it. */
  waits(message: NamedMessage): boolean {
    const view = this.#tasks.get(taskIdOf(message))?.view
    return (
      view !== undefined && view.askedCalls.length + view.openQuestions.length + budgetAsks(view).length > 0
    )
  }

  /**
   * The user of the tasks of a chat, according to the tasks that this process follows. `null`: unknown, or no
   * user.
   */
  userIn(session: string): string | null {
    return this.#in(session)[0]?.user ?? null
  }

  /** Records that this process knows better than the read model whether this code waits. */
  follow(code: string): void {
    this.#followed.add(code)
    if (this.#followed.size > followedMax)
      this.#followed.delete(this.#followed.values().next().value as string)
  }

  /** Records that this process no longer knows the state of this code, so the read model counts again. */
  lose(code: string): void {
    this.#followed.delete(code)
  }

  /** The calls, questions and budgets that wait in a chat, from the tasks that this process follows. */
  here(session: string): readonly Waiting[] {
    const tasks = this.#in(session)
    const calls = tasks.flatMap(({ task_id, view }) =>
      view.askedCalls.map((call) => {
        const { tool_name: tool, subject } = call.asked
        return ofCall({ task_id, code: codeOf(namedCall(task_id, call)), tool, subject })
      }),
    )
    const questions = tasks.flatMap(({ task_id, view }) =>
      view.openQuestions.map((open): Waiting => {
        const { code } = chatQuestion(task_id, open)
        return { kind: 'question', task_id, code, summary: open.question.message, forAll: agentAsks(open) }
      }),
    )
    return [...calls, ...questions, ...tasks.flatMap(({ task_id, view }) => ofBudgets(task_id, view))]
  }

  /**
   * What waits in a chat, also of tasks that other processes follow.
   *
   * @throws {BeaverError} the codes of a query
   */
  async anywhere(session: string): Promise<readonly Waiting[]> {
    const here = this.here(session)
    if (here.length > 0) return here
    const [calls, { questions }, budgets] = await Promise.all([
      this.calls(session),
      this.#client.query('questions', { session_id: session, limit: waitingMax }),
      this.#budgets(session),
    ])
    const asked = questions.map((each): Waiting => {
      const code = questionCodeOf({ ...each, index: each.question_index })
      return { kind: 'question', task_id: each.task_id, code, summary: each.message, forAll: agentAsks(each) }
    })
    return [...calls.map((call) => ofCall({ ...call, code: codeOf(call) })), ...asked, ...budgets].filter(
      ({ code }) => !this.#followed.has(code),
    )
  }

  /**
   * The budgets for which the tasks of a chat wait. The read model knows which tasks wait, and their logs say
   * for what.
   */
  async #budgets(session: string): Promise<readonly Waiting[]> {
    const { tasks } = await this.#client.query('tasks', { session_id: session, status: 'waiting', limit: 5 })
    const waiting = tasks.map(async ({ task_id }) => {
      const seen = await readTaskView(this.#client.events(task_id), () => true)
      return seen === null ? [] : ofBudgets(task_id, seen.view)
    })
    return (await Promise.all(waiting)).flat()
  }

  /**
   * The calls that wait in a chat, according to the read model.
   *
   * @throws {BeaverError} the codes of a query
   */
  async calls(session: string) {
    return (await this.#client.query('approvals', { session_id: session, limit: waitingMax })).calls
  }

  /**
   * Whether a message without a code is an answer, according to the tasks that this process follows. `false`
   * for a repeated message whose own task asks the question.
   */
  expectsAnswer(message: Person & NamedMessage, settings: ChannelSettings): boolean {
    return !this.followsTask(message) && this.#known(message, settings).length > 0
  }

  /**
   * The questions that wait in the chat and that this person may answer.
   *
   * @throws {BeaverError} the codes of a query
   */
  async questions(person: Person, settings: ChannelSettings): Promise<readonly ChatQuestion[]> {
    const known = this.#known(person, settings)
    return known.length > 0 ? known : this.#fromReadModel(person, settings)
  }

  #in(session: string): readonly FollowedTask[] {
    return [...this.#tasks.values()].filter((task) => task.session === session)
  }

  #known(person: Person, settings: ChannelSettings): ChatQuestion[] {
    const { name, user_id } = person.user
    if (user_id === null) return []
    return this.#in(sessionIdOf(person)).flatMap(({ task_id, user, view }) => {
      const may = (asked: OpenQuestion): boolean =>
        settings.approvers.includes(name) || (agentAsks(asked) && user === (settings.user_id ?? user_id))
      return view.openQuestions.filter(may).map((open) => chatQuestion(task_id, open))
    })
  }

  /** The same from the read model, for questions that another process asked. */
  async #fromReadModel(
    person: Person,
    { approvers, user_id: ofChannel }: ChannelSettings,
  ): Promise<ChatQuestion[]> {
    const { name, user_id } = person.user
    const isApprover = approvers.includes(name)
    const { questions } = await this.#client.query('questions', {
      session_id: sessionIdOf(person),
      limit: waitingMax,
      ...(isApprover ? {} : { user_id: ofChannel ?? user_id }),
    })
    return questions.flatMap((asked) => {
      const { run_id, call_id: callId, agent_name, tool, question_index: index, taskseq } = asked
      const at = { runId: run_id ?? undefined, callId, agent: agent_name ?? '', tool, index, taskseq }
      const open = { ...at, question: questionIn(asked) }
      return isApprover || agentAsks(open) ? [chatQuestion(asked.task_id, open)] : []
    })
  }
}

const ofBudgets = (task_id: string, view: TaskView): Waiting[] =>
  budgetAsks(view).map((ask) => {
    const code = budgetCodeOf(task_id, ask.key)
    const budget = { task_id, code, ask }
    return { kind: 'budget', task_id, code, summary: ask.reason, forAll: false, budget }
  })

const ofCall = ({
  task_id,
  code,
  tool,
  subject,
}: Pick<NamedCall, 'task_id'> & {
  readonly code: string
  readonly tool: string
  readonly subject: string
}) =>
  ({ kind: 'call', task_id, code, summary: `${tool}: ${subject}`, forAll: false }) as const satisfies Waiting
