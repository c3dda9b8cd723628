// What a person in a chat reads: pure functions from what happened to messages. Each message has an id that
// follows from what it tells, so that a repeated one is the same. Texts of agents are shown with their hidden
// characters in a question to a person, because the person decides by what it shows.
import { type InboundMessage, messageCharsMax, type OutboundMessage } from '@beaver/contracts'
import {
  BeaverError,
  type DataOf,
  questionLines,
  takesFreeText,
  type TaskViewEnd,
  visible,
} from '@beaver/core'
import type { ChatQuestion } from './chat-questions.ts'
import { answerIdOf } from './message-ids.ts'

type To = Pick<InboundMessage, 'channel' | 'chat_id' | 'message_id' | 'route'> &
  Partial<Pick<InboundMessage, 'kind'>>
interface AnswerText {
  readonly kind: OutboundMessage['kind']
  readonly text: string
  readonly task_id?: string | null
  readonly error?: OutboundMessage['error']
}

/** @param what tells the answers to one message apart; by default the kind */
function answer(
  to: To,
  { kind, text, task_id = null, error = null }: AnswerText,
  at: string,
  what: readonly (string | null)[] = [kind],
): OutboundMessage {
  const { channel, chat_id, message_id, route } = to
  const told = {
    id: answerIdOf(to, ...what),
    channel,
    chat_id,
    in_reply_to: message_id,
    kind,
    text: cut(text, messageCharsMax),
    task_id,
    error,
    at,
  }
  return route === undefined ? told : { ...told, route }
}

/** The result of a task. */
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

/** A longer reason is cut before anything is looked for in it. */
const errorCharsMax = 10_000

/**
 * There is no result. Everybody in the chat reads why, so the addresses of servers are left out, as far as
 * they are recognised.
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

/** The refusal of a message in a chat that belongs to somebody else. */
export const ofAnother = (): BeaverError => new BeaverError('not_allowed', ofAnotherText)

/** Why a message becomes no task, for the people of its chat. */
export const refusalFor = ({ code, message, problems }: BeaverError): string =>
  code === 'not_allowed' && problems.some(({ path }) => path === 'session_id') ? ofAnotherText : message

/**
 * What names a server: an endpoint, a URL (also one whose login was masked), a socket, what the network says
 * of a host, a number, and a host with a port. And what only its operator can use: the names of environment
 * variables, and what to check there.
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

/** What was done with a decision. */
export const noticed = (to: To, text: string, task_id: string | null, at: string): OutboundMessage =>
  answer(to, { kind: 'notice', text, task_id }, at)

interface Asked {
  readonly task_id: string
  readonly code: string
  readonly approvers: readonly string[]
  readonly asked: DataOf<'approval_requested'>
  /** As the model wrote them. `null`: they are not known. */
  readonly args: string | null
}

const shown = (text: string, most: number): string => cut(visible(text, '\n\t'), most)
const argumentsCharsMax = 2_000

/** A call waits for a person. */
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
 * A call asks a person. @param approvers who may answer besides the person who wrote the message; `null`:
 * only they may
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

/** What waits in a chat for a person. */
export interface Waiting {
  readonly kind: 'call' | 'question'
  readonly task_id: string
  readonly code: string
  /** In a few words. */
  readonly what: string
  /** Whether everybody for whom the task is may answer it, and not approvers alone. */
  readonly forAll: boolean
}

const waitingShown = 5

/** What a chat waits for, and what to write: one line, or a line for each. */
export function waitLines(waiting: readonly Waiting[], approvers: readonly string[]): string {
  const ways = waiting.slice(0, waitingShown).map(({ kind, task_id, code, what, forAll }) => {
    const about = `(${shown(what.replaceAll(/\s+/g, ' '), 120)})`
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
  /** The writer, who is told who may decide if it is somebody else. */
  readonly who: string
  /** The chat belongs to another person: there is nothing to write again. */
  readonly isOfAnother: boolean
}

/** A person wrote something else while a chat waits for a decision or an answer. */
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

/** Beaver works on a message. It answers none. */
export function worksOn(to: To, task_id: string, at: string): OutboundMessage {
  return {
    ...answer(to, { kind: 'notice', text: 'Beaver is working on it. The answer comes here.', task_id }, at, [
      'working',
    ]),
    in_reply_to: null,
  }
}

/**
 * A person changed a message that was there before. It may be told again of the same message at another time.
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
