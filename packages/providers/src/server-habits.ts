// What one server takes in a request, learned from its refusals. Each refusal teaches one thing, so a request
// is repeated a few times at most.
import { CacheHabits, type SentForCache } from './cache-habits.ts'
import { type ConversationForm, plainForm } from './conversation-form.ts'
import { FormHabits, type SentForm } from './form-habits.ts'
import { ImageHabits } from './image-habits.ts'
import { refusalIn, refusedForm } from './provider-failure.ts'
import type { FilledState, OutputTokensField } from './request-body.ts'
import type { ServerError } from './server-error.ts'
import {
  saysEmptyContent,
  saysIdForm,
  saysNoState,
  saysNoStreamOptions,
  saysNoSystemRole,
  saysOneCall,
  saysOtherTokensField,
  saysRolesAlternate,
  saysSignatureMissing,
  saysThoughtsMissing,
  saysToolsUndescribed,
} from './server-words.ts'

/**
 * What a request had that a server may not know, or in which form it was. A refusal is judged by it, because
 * a server may refuse several requests at once.
 */
export interface SentFields extends SentForCache {
  readonly usage: boolean
  readonly state: boolean
  /** The name that the most tokens of an answer had; `null` if they were not said. */
  readonly outputTokens: OutputTokensField | null
  /** The form of the answer; `null` if it was not asked for. */
  readonly form: SentForm | null
  /** The images with their content, the newest first, each as often as it is there. */
  readonly images: readonly string[]
  readonly filled: FilledState
  readonly conversation: ConversationForm
  readonly describesCalls: boolean
}

export class ServerHabits {
  /** Whether it counts the tokens of a stream. */
  usage = true
  /** Whether it takes back what it sent with its messages. */
  state = true
  /** What it misses in messages of other models. */
  filled: FilledState = { thoughts: false, signatures: false }
  /** What it demands of the messages. */
  conversation: ConversationForm = plainForm
  /** Whether it takes calls only with a description of their tools. */
  describesCalls = false
  /**
   * Whether its template opens the thoughts for the model, so that an answer begins in the middle of them.
   */
  opensThoughts = false
  outputTokensField: OutputTokensField
  readonly form = new FormHabits()
  readonly cache = new CacheHabits()
  readonly images: ImageHabits
  /** It has the other name, or it has taken this one. */
  #fieldIsKnown = false

  /** @param images what the operator says about it; absent: nothing */
  constructor(outputTokensField: OutputTokensField, images?: boolean) {
    this.outputTokensField = outputTokensField
    this.images = new ImageHabits(images)
  }

  /** A request was not refused. */
  taken({ outputTokens, images }: SentFields): void {
    this.images.taken(images)
    this.#fieldIsKnown ||= outputTokens === this.outputTokensField
  }

  /** Returns whether a refusal says what the server does not take, so that it is asked again. */
  learns(refusal: unknown, sent: SentFields): boolean {
    const said = refusalIn(refusal)
    if (said === null) return false
    return (
      this.cache.learns(said, sent) ||
      this.#learnsField(said, sent) ||
      this.#learnsConversation(said, sent) ||
      this.images.learnsBad(said, sent.images)
    )
  }

  #learnsField(said: ServerError, sent: SentFields): boolean {
    if (this.images.learns(said, sent.images)) return true
    if (sent.usage && saysNoStreamOptions(said)) {
      this.usage = false
      return true
    }
    if (!sent.filled.thoughts && saysThoughtsMissing(said)) {
      this.filled = { ...this.filled, thoughts: true }
      return true
    }
    if (!sent.filled.signatures && saysSignatureMissing(said)) {
      this.filled = { ...this.filled, signatures: true }
      return true
    }
    if (sent.form !== null && this.form.learns(refusedForm(said), sent.form)) return true
    if (sent.state && saysNoState(said)) {
      this.state = false
      return true
    }
    return this.#learnsOutputTokens(said, sent)
  }

  #learnsOutputTokens(said: ServerError, { outputTokens: sent }: SentFields): boolean {
    if (sent === null || !saysOtherTokensField(said)) return false
    if (sent !== this.outputTokensField) return true
    if (this.#fieldIsKnown) return false
    this.#fieldIsKnown = true
    this.outputTokensField = sent === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens'
    return true
  }

  #learnsConversation(said: ServerError, sent: SentFields): boolean {
    const learned = conversationAfter(sent.conversation, said)
    if (learned !== null) this.conversation = { ...this.conversation, ...learned }
    if (learned !== null || sent.describesCalls || !saysToolsUndescribed(said)) return learned !== null
    return (this.describesCalls = true)
  }
}

function conversationAfter(form: ConversationForm, said: ServerError): Partial<ConversationForm> | null {
  if (!form.shortIds && saysIdForm(said)) return { shortIds: true }
  if (!form.noSystem && saysNoSystemRole(said)) return { noSystem: true }
  if (!form.oneCall && saysOneCall(said)) return { oneCall: true }
  if (!form.alternates && saysRolesAlternate(said)) return { alternates: true }
  // A template that has no role for the system or for results may say only that the roles must alternate.
  if (!form.noSystem && saysRolesAlternate(said)) return { noSystem: true }
  if (!form.noTools && (saysRolesAlternate(said) || saysNoSystemRole(said))) return { noTools: true }
  if (form.emptyContent === '(empty)' || !saysEmptyContent(said)) return null
  return { emptyContent: form.emptyContent === null ? '' : '(empty)' }
}
