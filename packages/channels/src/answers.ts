// The texts that people read in a chat, made by pure functions. The id of each text is computed from what it
// is about, so a repeated text has the same id. In a question to a person, hidden characters of an agent's
// text are made visible, because the person decides by this text.
import { type InboundMessage, messageCharsMax, type OutboundMessage } from '@beaver/contracts'
import { BeaverError, type DataOf, visible } from '@beaver/core'
import { amountText, budgetOffers, typedAmount } from '@beaver/core/budget'
import { questionLines, takesFreeText } from '@beaver/core/question'
import { type BudgetAsk, operatorGives, type TaskViewEnd } from '@beaver/core/task-view'
import type { ChatQuestion } from './chat-questions.ts'
import { answerIdOf, type NamedMessage } from './message-ids.ts'

type To = NamedMessage & Pick<InboundMessage, 'route'> & Partial<Pick<InboundMessage, 'kind'>>
interface AnswerText {
  readonly kind: OutboundMessage['kind']
  readonly text: string
  readonly task_id?: string | null
  readonly error?: OutboundMessage['error']
}

/**
 * Makes a text for a chat.
 *
 * @param parts distinguishes the texts that answer one message, as part of the id. Default: the kind
 */
function answer(
  to: To,
  { kind, text, task_id = null, error = null }: AnswerText,
  at: string,
  parts: readonly (string | null)[] = [kind],
): OutboundMessage {
  const { channel, chat_id, message_id, route } = to
  const message = {
    id: answerIdOf(to, ...parts),
    channel,
    chat_id,
    in_reply_to: message_id,
    kind,
    text: cut(text, messageCharsMax),
    task_id,
    error,
    at,
  }
  return route === undefined ? message : { ...message, route }
}

/** The answer with the result of a task, or with the reason why it has none. */
export function resultAnswer(
  to: To,
  task_id: string,
  end: Pick<TaskViewEnd, 'type' | 'result'>,
  at: string,
): OutboundMessage {
  const { final_output: output, failure } = end.result
  if (end.type === 'task_completed' || (end.type === 'task_incomplete' && output !== '')) {
    const whole =
      output.length > messageCharsMax
        ? `${output.slice(0, messageCharsMax - 200)}\n… The whole answer: beaver show ${task_id}`
        : output
    return answer(to, { kind: 'answer', text: whole, task_id }, at)
  }
  const status = end.type.slice('task_'.length)
  const message = cut(failure?.message ?? `The task is ${status}.`, errorCharsMax)
  const isWhole = forChat(message) === message
  return failed(
    to,
    {
      code: failure?.class ?? status,
      message: isWhole ? message : `${message}\nThe operator of Beaver sees more: beaver show ${task_id}`,
      task_id,
    },
    at,
  )
}

/** The longest reason in an error. A longer one is cut before addresses are looked for. */
const errorCharsMax = 10_000

/**
 * The answer for a message that has no result. Everybody in the chat can read the reason, so addresses of
 * servers are removed as far as they are recognised.
 */
export function failed(
  to: To,
  { code, message, task_id = null }: { code: string; message: string; task_id?: string | null },
  at: string,
): OutboundMessage {
  const error = { code, message: forChat(cut(message, errorCharsMax)) }
  const text = to.kind === 'control' ? error.message : `There is no answer to this message: ${error.message}`
  return answer(to, { kind: 'error', text, task_id, error }, at)
}

const ofAnotherText =
  'This chat belongs to the person who wrote to Beaver here first, and Beaver works for nobody else in it. Write to Beaver in a chat of your own. The operator of Beaver can open this chat for everybody.'

/** The error for a message in a chat that belongs to another person. */
export const ofAnother = (): BeaverError => new BeaverError('not_allowed', ofAnotherText)

/** The reason why a message becomes no task, as the people of the chat read it. */
export const refusalFor = ({ code, message, problems }: BeaverError): string =>
  code === 'not_allowed' && problems.some(({ path }) => path === 'session_id') ? ofAnotherText : message

/**
 * Patterns of what the people of a chat must not read, each with its replacement. They match what names a
 * server: an endpoint, a URL (also one with a masked login), a socket, a host in an error of the network, an
 * IP address, and a host with a port. They also match what only the operator can use: names of environment
 * variables, and advice about what to check.
 */
const ofOperators = [
  [/\bThe endpoint \S*[.:]\w\S*/g, 'The endpoint'],
  [
    /: check (?:[A-Z][A-Z\d_]{2,80}|the model's name and the base URL|the plan and billing of the account|its plan and billing)(?= \()/g,
    '',
  ],
  [/ Check that it runs and that the base URL is right\./g, ''],
  [
    /\b(?!(?:BAD|ERR|EXPIRED|INVALID|MISSING|NO|UNKNOWN)_)[A-Z][A-Z\d]*(?:_[A-Z\d]+)*_(?:CREDS|KEY|NKEY|PASSWORD|SECRET|TOKEN|URL|USER)\b/g,
    '(setting)',
  ],
  [/\b[a-z][a-z\d+.-]{1,20}:\/\/(?:\[[^\]\s]{0,100}\]|[^\s"'<>()[\]])+(?<![.,;:!?])/gi, '(address)'],
  [/\bunix:[/.@][^\s"'<>)\]]*\w/gi, '(address)'],
  [/(?<![\w.~/-])\/[^\s"'<>():[\]]{1,200}\.sock\b/gi, '(address)'],
  [/\b(EAI_AGAIN|ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|ETIMEDOUT) \S*\w/g, '$1'],
  [/\b(DNS|Host|IP Address): ?\S*\w/g, '$1: (address)'],
  [/\[(?=[^\]]{0,45}:[^\]]{0,45}:)[\da-f:.]{2,45}\](?::\d{1,5})?/gi, '(address)'],
  [
    /(?<![\w:.])(?=[\da-f:]{0,39}\d)(?:(?:[\da-f]{1,4}:){7}[\da-f]{1,4}|(?:[\da-f]{1,4}(?::[\da-f]{1,4}){0,6})?::(?:[\da-f]{1,4}(?::[\da-f]{1,4}){0,6})?)(?:%\w{1,20})?(?![\w:])/gi,
    '(address)',
  ],
  [/\b(?:localhost|\d{1,3}(?:\.\d{1,3}){3})(?::\d{1,5})?(?![\w.])/gi, '(address)'],
  [
    /(?<![\w./-])(?![\w.-]{0,250}\.(?:[cm]?[jt]sx?|json|md|py|ya?ml|toml|txt|csv|sh|rs|go|java|html|css):)[a-z\d-]{1,63}(?:\.[a-z\d-]{1,63}){0,8}\.[a-z][a-z\d-]{0,62}:\d{2,5}\b/gi,
    '(address)',
  ],
  [/(?<![\w./-])[a-z\d-]{1,63}(?:\.[a-z\d-]{1,63}){0,8}\.cluster\.local\b/gi, '(address)'],
] as const

function forChat(text: string): string {
  let left = text
  for (const [address, instead] of ofOperators) left = left.replaceAll(address, instead)
  return left
}

/** The text that confirms a decision or an answer. */
export const noticed = (to: To, text: string, task_id: string | null, at: string): OutboundMessage =>
  answer(to, { kind: 'notice', text, task_id }, at)

/** A budget in which a task of a chat waits for more. */
export interface ChatBudget {
  readonly task_id: string
  readonly code: string
  readonly ask: BudgetAsk
}

/** How to give more. */
function waysToGive(
  { task_id, code, ask: { exceeded, shared } }: ChatBudget,
  approvers: readonly string[],
): string {
  if (shared) return operatorGives(exceeded.budget)
  if (approvers.length === 0)
    return `Nobody in this channel may give more. Give more with: beaver budget raise ${task_id}`
  const { measure } = exceeded
  const [least = 1, ...others] = budgetOffers(exceeded)
  const typed = typedAmount(measure, least)
  const or = others.map((amount) => `"more ${typedAmount(measure, amount)}", `).join('')
  return `Answer "more ${typed}" to give ${amountText(measure, least)} more, ${or}or "cancel" to stop the task. Its code, if you must name it, is ${code}: "more ${code} ${typed}". ${namesOf(approvers)} may decide.`
}

/** The text that asks for more in a budget. */
export function budgetAsked(
  to: To,
  { budget, approvers }: { readonly budget: ChatBudget; readonly approvers: readonly string[] },
  at: string,
): OutboundMessage {
  const { task_id, code, ask } = budget
  const text = `The task waits: ${shown(ask.reason, 1_000)}.\n${waysToGive(budget, approvers)}`
  return answer(to, { kind: 'approval', text, task_id }, at, ['budget', code])
}

interface Asked {
  readonly task_id: string
  readonly code: string
  readonly approvers: readonly string[]
  readonly asked: DataOf<'approval_requested'>
  /** The arguments as the model wrote them. `null`: unknown. */
  readonly args: string | null
}

const shown = (text: string, most: number): string => cut(visible(text, '\n\t'), most)
const argumentsCharsMax = 2_000

/** The text that asks for a decision about a call. */
export function approval(
  to: To,
  { task_id, code, approvers, asked, args }: Asked,
  at: string,
): OutboundMessage {
  const { tool_name, subject, reason, preview } = asked
  const lines = [
    `An agent asks to call ${shown(tool_name, 100)}: ${shown(subject, 2_000)}`,
    ...(reason === undefined ? [] : [shown(reason, 1_000)]),
    ...(preview === undefined
      ? []
      : [
          `It would ${shown(preview.effect, 200)} ${shown(preview.path, 500)} (${preview.bytes} bytes):`,
          shown(preview.diff, 4_000),
        ]),
    ...(args === null || args === subject || args.length > argumentsCharsMax
      ? []
      : [`Its arguments: ${shown(args, argumentsCharsMax)}`]),
    approvers.length === 0
      ? `Nobody in this channel may decide. Decide with: beaver approve ${task_id}`
      : `Answer "approve ${code}" or "deny ${code} <why>". To change its arguments: "approve ${code} {…}" with all of them. ${namesOf(approvers)} may decide.`,
  ]
  return answer(to, { kind: 'approval', text: lines.join('\n'), task_id }, at, ['approval', code])
}

/**
 * The text of a question.
 *
 * @param approvers the only people who may answer the question of a tool. `null`: an agent asks, so the user
 * of the task may answer
 */
export function question(
  to: To,
  {
    asked: { task_id, code, open },
    approvers,
  }: { readonly asked: ChatQuestion; readonly approvers: readonly string[] | null },
  at: string,
): OutboundMessage {
  const { question: asked, tool } = open
  const who = approvers === null ? '' : ` ${namesOf(approvers)} may answer.`
  const how =
    approvers?.length === 0
      ? `Nobody in this channel may answer. Answer with: beaver answer ${task_id}`
      : `Write the answer as your next message here, or "answer ${code} …". To give none: "decline ${code}".${who}`
  const lines = [
    ...(approvers === null ? [] : [`The tool ${shown(tool, 100)} asks:`]),
    cut(questionLines(asked).join('\n'), 20_000),
    how,
  ]
  const { options = [], several = false } = asked
  const buttons = { code, options, several, free_text: takesFreeText(asked) }
  return {
    ...answer(to, { kind: 'question', text: lines.join('\n'), task_id }, at, ['question', code]),
    question: buttons,
  }
}

/** A call, a question or a budget that waits in a chat. */
export interface Waiting {
  readonly kind: 'call' | 'question' | 'budget'
  readonly task_id: string
  readonly code: string
  /** A short description. */
  readonly summary: string
  /** Whether the user of the task may answer, and not only approvers. */
  readonly forAll: boolean
  /** The budget, of the kind `budget`. */
  readonly budget?: ChatBudget
}

const waitingShown = 5

/** Says what a chat waits for and what to write: in one line, or in a line for each if there are several. */
export function waitLines(waiting: readonly Waiting[], approvers: readonly string[]): string {
  const ways = waiting.slice(0, waitingShown).map(({ kind, task_id, code, summary, forAll, budget }) => {
    if (budget !== undefined) return `more in a budget. ${waysToGive(budget, approvers)}`
    const about = `(${shown(summary.replaceAll(/\s+/g, ' '), 120)})`
    const [does, command] = kind === 'call' ? ['a decision', 'approve'] : ['an answer', 'answer']
    if (!forAll && approvers.length === 0)
      return `${does} that nobody in this channel may give: beaver ${command} ${task_id} ${about}`
    return kind === 'call'
      ? `approve ${code} or deny ${code} ${about}`
      : `answer ${code} … or decline ${code} ${about}`
  })
  const more = waiting.length - ways.length
  if (more > 0) ways.push(`and ${more} more`)
  return `This chat waits for:${ways.length === 1 ? ` ${ways[0]}` : ways.map((way) => `\n${way}`).join('')}`
}

interface WaitsFirst {
  readonly waiting: readonly Waiting[]
  readonly approvers: readonly string[]
  /** The name of the writer. If the writer may not decide, the text names who may. */
  readonly who: string
  /** Whether the chat belongs to another person. Then the writer is not asked to repeat the message. */
  readonly isOfAnother: boolean
}

/** The refusal of a message that is neither a decision nor an answer, while the chat waits for one. */
export function waitsFirst(
  to: To,
  { waiting, approvers, who, isOfAnother }: WaitsFirst,
  at: string,
): OutboundMessage {
  const others =
    approvers.length === 0 || approvers.includes(who) || waiting.every(({ forAll }) => forAll)
      ? ''
      : ` ${namesOf(approvers)} may decide.`
  const again = isOfAnother ? ofAnotherText : `Write it again when this is decided.${others}`
  const text = `${waitLines(waiting, approvers)}\nYour message was not read. ${again}`
  return answer(
    to,
    { kind: 'error', text, error: { code: 'waits_for_decision', message: cut(text, 10_000) } },
    at,
  )
}

/** The line that says that Beaver works on a message. It is not an answer, so `in_reply_to` is `null`. */
export function worksOn(to: To, task_id: string, at: string): OutboundMessage {
  return {
    ...answer(to, { kind: 'notice', text: 'Beaver is working on it. The answer comes here.', task_id }, at, [
      'working',
    ]),
    in_reply_to: null,
  }
}

/**
 * The notice that Beaver does not read edited messages. `at` is part of the id, so that a later edit of the
 * same message gets a notice again.
 */
export const editedNotice = (to: To, at: string): OutboundMessage =>
  answer(
    to,
    { kind: 'notice', text: 'Beaver does not read edited messages. Write the change as a new message.' },
    at,
    ['edited', at],
  )

const namesOf = (names: readonly string[]): string => names.map((name) => shown(name, 100)).join(', ')

const cut = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`
