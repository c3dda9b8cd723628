// In which form one server writes an answer, learned from its refusals. Each refusal takes something away:
// this schema, the form beside tools, or the way of asking. So the number of repetitions is bounded. Beside
// tools, only a server that is known to support both is asked for the form: several servers force the form
// from the first token, so that the model never calls a tool
// (https://github.com/vllm-project/vllm/issues/39929).
import type { ChatRequest } from '@beaver/agent'
import { canonicalJson } from '@beaver/core'
import type { FormLevel, StructuredOutput } from './response-format.ts'
import { responseFormat } from './response-format.ts'

/** What a request said about the form of its answer. */
export interface SentForm {
  readonly level: FormLevel
  readonly besideTools: boolean
  readonly schema: string
}

export class FormHabits {
  #level: FormLevel = 'json_schema'
  #besideTools = true
  readonly #refusedSchemas = new Set<string>()

  /** What this request says about the form; `null` if it says nothing. */
  sentFor({ output, tools }: Pick<ChatRequest, 'output' | 'tools'>, when: StructuredOutput): SentForm | null {
    const besideTools = tools.length > 0
    if (output === undefined || when === 'prompt' || (besideTools && (when === 'auto' || !this.#besideTools)))
      return null
    const schema = canonicalJson(output.schema)
    const level = this.#level === 'json_schema' && this.#refusedSchemas.has(schema) ? 'none' : this.#level
    return responseFormat(output, level) === undefined ? null : { level, besideTools, schema }
  }

  /** Returns whether to ask the server again in another way. `refused`: `null` if it was not the form. */
  learns(refused: 'schema' | 'beside_tools' | 'form' | null, sent: SentForm): boolean {
    if (refused === null) return false
    if (refused === 'beside_tools' && sent.besideTools) this.#besideTools = false
    else if (refused === 'schema' && sent.level === 'json_schema') this.#refuse(sent.schema)
    else this.#level = sent.level === 'json_schema' ? 'json_object' : 'none'
    return true
  }

  #refuse(schema: string): void {
    if (this.#refusedSchemas.size >= refusedSchemasMax) this.#refusedSchemas.clear()
    this.#refusedSchemas.add(schema)
  }
}

const refusedSchemasMax = 64
