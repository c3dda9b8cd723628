// The questions that the tasks of chats ask: which wait, who may answer them, and which of them a message
// answers. A question is answered in the chat whose message became its task, and in no other. What the agent
// asks is answered by whom the task is for, or by an approver. What another tool asks may permit something,
// so only an approver answers it. The next message of such a person is the answer, if one question waits,
// whichever process has asked it.
import type { BeaverClient } from '@beaver/client'
import { type InboundMessage, questionIn } from '@beaver/contracts'
import {
  agentAsks,
  answerInText,
  askingCall,
  BeaverError,
  type OpenQuestion,
  openQuestions,
  type Question,
  type QuestionAnswer,
  type RecordedEvent,
  takesFreeText,
} from '@beaver/core'
import type { ChannelSettings } from './channel.ts'
import { questionCodeOf, sessionIdOf, taskIdOf } from './message-ids.ts'
import { bare, withoutMarks, withoutSignature } from './typed-text.ts'

/** A question that waits in a chat. */
export interface ChatQuestion {
  readonly task_id: string
  readonly code: string
  readonly open: OpenQuestion
}

/** A person who writes in a chat. */
type Person = Pick<InboundMessage, 'channel' | 'chat_id' | 'user'>

interface FollowedTask {
  readonly session: string
  /** The user for whom the task is. */
  readonly user: string | null
  open: readonly OpenQuestion[]
}

const waitingMax = 200

export class ChatQuestions {
  readonly #client: Pick<BeaverClient, 'query'>
  readonly #tasks = new Map<string, FollowedTask>()

  constructor(client: Pick<BeaverClient, 'query'>) {
    this.#client = client
  }

  /**
   * Follows the task of a message. The returned function takes its next event, and gives the question that it
   * asks.
   */
  follow(
    message: InboundMessage,
    { user_id }: Pick<ChannelSettings, 'user_id'>,
  ): (event: RecordedEvent) => ChatQuestion | null {
    const task_id = taskIdOf(message)
    const task: FollowedTask = {
      session: sessionIdOf(message),
      user: user_id ?? message.user.user_id,
      open: [],
    }
    this.#tasks.set(task_id, task)
    return (event) => {
      task.open = openQuestions(task.open, event)
      const asked = event.type === 'question_asked' ? task.open.at(-1) : undefined
      return asked === undefined ? null : chatQuestion(task_id, asked)
    }
  }

  forget(message: InboundMessage): void {
    this.#tasks.delete(taskIdOf(message))
  }

  /**
   * Whether a message that names no question is an answer, as far as this process knows. The message of a
   * task that asks may come a second time.
   */
  expects(message: Person & Pick<InboundMessage, 'message_id'>, of: ChannelSettings): boolean {
    return !this.follows(message) && this.#known(message, of).length > 0
  }

  /** Whether a question of the task of a message waits. */
  waits(message: Pick<InboundMessage, 'channel' | 'chat_id' | 'message_id'>): boolean {
    return (this.#tasks.get(taskIdOf(message))?.open.length ?? 0) > 0
  }

  /** The questions that wait in a chat, also those that only another person may answer. */
  inChat(session: string): readonly ChatQuestion[] {
    return [...this.#tasks].flatMap(([task_id, task]) =>
      task.session === session ? task.open.map((open) => chatQuestion(task_id, open)) : [],
    )
  }

  /**
   * The user for whom the tasks of a chat are, as far as this process follows one. `null`: it is not known,
   * or nobody.
   */
  userIn(session: string): string | null {
    return this.#tasks.values().find((task) => task.session === session)?.user ?? null
  }

  /** Whether this process follows the task of a message. */
  follows(message: Pick<InboundMessage, 'channel' | 'chat_id' | 'message_id'>): boolean {
    return this.#tasks.has(taskIdOf(message))
  }

  /**
   * The questions that wait in the chat and that the person may answer. @throws {BeaverError} the codes of a
   * query
   */
  async waiting(person: Person, of: ChannelSettings): Promise<readonly ChatQuestion[]> {
    const known = this.#known(person, of)
    return known.length > 0 ? known : this.#fromReadModel(person, of)
  }

  #known(person: Person, of: ChannelSettings): ChatQuestion[] {
    const session = sessionIdOf(person)
    const { name, user_id } = person.user
    if (user_id === null) return []
    return [...this.#tasks].flatMap(([task_id, task]) => {
      const may = (asked: OpenQuestion): boolean =>
        of.approvers.includes(name) || (agentAsks(asked) && task.user === (of.user_id ?? user_id))
      return task.session === session ? task.open.filter(may).map((open) => chatQuestion(task_id, open)) : []
    })
  }

  /** Another process asked. */
  async #fromReadModel(
    person: Person,
    { approvers, user_id: ofChannel }: ChannelSettings,
  ): Promise<ChatQuestion[]> {
    const session = sessionIdOf(person)
    const { name, user_id } = person.user
    const isApprover = approvers.includes(name)
    const ofUser = isApprover ? {} : { user_id: ofChannel ?? user_id }
    const { questions } = await this.#client.query('questions', {
      session_id: session,
      limit: waitingMax,
      ...ofUser,
    })
    return questions.flatMap((asked) => {
      const { run_id, call_id: callId, agent_name, tool, question_index: index, taskseq } = asked
      const at = { runId: run_id ?? undefined, callId, agent: agent_name ?? '', tool, index, taskseq }
      const open = { ...at, question: questionIn(asked) }
      return isApprover || agentAsks(open) ? [chatQuestion(asked.task_id, open)] : []
    })
  }
}

function chatQuestion(task_id: string, open: OpenQuestion): ChatQuestion {
  const code = questionCodeOf({
    task_id,
    run_id: open.runId ?? null,
    call_id: open.callId,
    index: open.index,
  })
  return { task_id, code, open }
}

/** What the bridge sends to the daemon. */
export const answerTo = (
  { open }: ChatQuestion,
  answer: QuestionAnswer,
  rest: { readonly reason?: string; readonly userId?: string | undefined },
) => ({
  callId: askingCall(open),
  questionIndex: open.index,
  answer,
  ...rest,
})

/**
 * The answer in a message. What follows the mark of a signature in a mail is left out, and an answer that
 * takes no free text is one line.
 *
 * @throws {BeaverError} `invalid_arguments`
 */
export function answerIn({ open: { question: asked } }: ChatQuestion, text: string): QuestionAnswer {
  const said = withoutSignature(withoutMarks(text))
  const isLine = asked.form === undefined && !takesFreeText(asked)
  return answerInText(asked, asChoice(asked, isLine ? (said.trim().split('\n')[0] ?? '') : said))
}

/**
 * Options in quotes or with a stop behind them, as people write them, are the options. Any other text stays
 * as it is.
 */
function asChoice({ options = [], several = false }: Question, said: string): string {
  const isOption = (text: string): boolean =>
    options.some((each) => each.toLowerCase() === text.toLowerCase())
  if (options.length === 0 || isOption(said.trim())) return said
  const parts = (several ? said.split(/[,\n]/) : [said])
    .map((each) => (isOption(each.trim()) ? each.trim() : bare(each)))
    .filter((each) => each !== '')
  return parts.every((each) => isOption(each) || /^\d{1,3}$/.test(each)) ? parts.join('\n') : said
}

/**
 * The question that a message is about. @throws {BeaverError} `conflict` if none waits any more;
 * `invalid_arguments` if it cannot be said which
 */
export function questionMeant(waiting: readonly ChatQuestion[], code: string | null): ChatQuestion {
  if (code !== null) {
    const found = waiting.find((each) => each.code === code)
    if (found !== undefined) return found
    throw new BeaverError(
      'invalid_arguments',
      `No question with the code ${code} waits for you in this chat.`,
    )
  }
  const [only] = waiting
  if (only === undefined)
    throw new BeaverError(
      'conflict',
      'What this chat waited for was settled meanwhile. Write the message again, and it becomes a task.',
    )
  if (waiting.length === 1) return only
  const names = waiting.map(
    (each) => `"answer ${each.code} …" for: ${each.open.question.message.slice(0, 200)}`,
  )
  throw new BeaverError(
    'invalid_arguments',
    `${waiting.length} questions wait. Say which one you answer:\n${names.join('\n')}`,
  )
}
