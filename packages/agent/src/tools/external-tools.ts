// Tools that live in the daemon's process and not in a worker thread: those of MCP servers. They are
// connected once per process, and the loops call them through their host.
import type { JsonObject } from '@beaver/core'
import { schemaFault as jsonSchemaFault, schemaMismatch as jsonSchemaMismatch } from '@beaver/core/evidence'
import { imageLimits } from '@beaver/core/images'
import type { Sink } from '@beaver/core/taint'
import type { Effects, Reads } from '../taint/tool-kind.ts'
import type { SubjectKind } from './judge-subject.ts'
import type { Permission } from './permission.ts'
import {
  type AskPerson,
  type CallPreview,
  type ExternalCall,
  type ExternalImage,
  type ExternalResult,
  type Tool,
  type ToolContext,
  ToolFailure,
} from './tool.ts'

/** Plain data: it is sent to every worker thread. */
export interface ExternalTool {
  /** Unique among all tools; 1 to 64 of `a-z A-Z 0-9 _ -`. */
  readonly name: string
  readonly description: string
  /** The JSON Schema of the arguments. */
  readonly parameters: Record<string, unknown>
  readonly idempotent: boolean
  readonly permission: Permission
  /** What the subject of a call is. Default: `text`. */
  readonly subjectKind?: SubjectKind
  /** What a call does. Default: `writes`. */
  readonly effects?: Effects
  /** What a call does with its arguments. Default: as for any tool. */
  readonly sink?: Sink
  /** Whose text the results are. Default: `own`. */
  readonly reads?: Reads
  /** Whose text the description is, for people, if it is a stranger's. Default: the user's own. */
  readonly describedBy?: string
  /** How long a call may take, in milliseconds. Default: the configured bound. */
  readonly timeoutMs?: number
  /** Whether the process that has the tool can describe a call before it runs. Default: `false`. */
  readonly describes?: boolean
}

/** What a call of an external tool would do, from the process that has the tool. */
export interface CallDescription {
  /** What the call acts on. `null`: its arguments as JSON. */
  readonly subject: string | null
  /**
   * Why `subject` is not known, so that no rule can be evaluated and the call is denied. `null`: it is known.
   */
  readonly unreadable: string | null
  /** Why the tool would refuse the arguments. `null`: it would not. */
  readonly inputFault: string | null
  /** What the call would change. `null`: the tool cannot say it. */
  readonly preview: CallPreview | null
  /** What the tool refuses the call with before it runs. `null`: it does not. */
  readonly refused: { readonly code: string; readonly message: string } | null
}

/** The external tools of a daemon's process. */
export interface ExternalTools {
  /** The tools that are offered now. */
  readonly tools: readonly ExternalTool[]
  /** Calls `listener` when `tools` has changed. The returned function ends this. */
  onChange(listener: () => void): () => void
  /**
   * Resolves when the tools of these names have come, as far as they come soon: a run that is resumed began
   * with them. Absent: all are there at once.
   */
  arrival?(names: readonly string[]): Promise<void>
  /**
   * A model provider refuses the schema of a tool, so runs leave it out there. Absent: nobody needs to know.
   */
  refused?(tool: string, refusal: { readonly provider: string; readonly says: string }): void
  /** Describes a call of a tool that has `describes`. Never rejects. Absent: no tool has it. */
  describe?(call: ExternalCall): Promise<CallDescription>
  /**
   * Never rejects: a failure is a result that the model can read. Ends soon after `signal` aborts. `ask` asks
   * the person; absent: the call may not ask. `progress` tells how far the call is; absent: nobody hears it.
   */
  call(
    call: ExternalCall,
    signal: AbortSignal,
    ask?: AskPerson,
    progress?: ToolContext['progress'],
  ): Promise<ExternalResult>
}

/**
 * The external tool in the form that a loop uses.
 *
 * @example
 * const search = externalTool({
 *   name: 'github_search',
 *   description: 'Searches issues.',
 *   parameters: { type: 'object', properties: { query: { type: 'string' } } },
 *   idempotent: true,
 *   permission: 'allow',
 * })
 * search.inHost // => true
 */
export function externalTool(external: ExternalTool): Tool {
  return {
    ...external,
    inHost: true,
    inputFault: (args) => argumentsMismatch(external, args),
    async invoke(args, context) {
      const { workspace, taskId, sessionId, runId, trace } = context
      const call = {
        name: external.name,
        arguments: args as JsonObject,
        run: { workspace, taskId, sessionId, runId, ...(trace === undefined ? {} : { trace }) },
      }
      const {
        success,
        content,
        error,
        images = [],
      } = await context.callExternal(call, context.signal, context.ask)
      if (success) return [content, ...(await withImages(images, context))].join('\n')
      const unseen = images.length === 0 ? '' : '\n[Beaver: the images of a call that failed are not shown]'
      throw new ToolFailure(error ?? 'tool_crash', content + unseen)
    },
  }
}

/** @returns why an image is not shown, for each that is not; of those that are too many, once */
async function withImages(
  images: readonly ExternalImage[],
  { showImage }: Pick<ToolContext, 'showImage'>,
): Promise<string[]> {
  const faults: string[] = []
  const surplus = images.length - imageLimits.perTaskMax
  for (const { content, name } of images.slice(0, imageLimits.perTaskMax)) {
    try {
      if (showImage === undefined) throw new ToolFailure('images_unavailable', 'No image can be shown here.')
      await showImage(content, name)
    } catch (error) {
      if (!(error instanceof ToolFailure)) throw error
      faults.push(`[Beaver: an image is not shown: ${error.message}]`)
    }
  }
  return surplus <= 0
    ? faults
    : [
        ...faults,
        `[Beaver: the last ${surplus} images are not shown: a call shows at most ${imageLimits.perTaskMax}]`,
      ]
}

/**
 * The tool as it is for one call: with the subject, the fault and the preview that its process told. From
 * here on it is like any other tool.
 *
 * @example
 * const deploy = externalTool({ name: 'deploy', description: 'Deploys.', parameters: { type: 'object' }, idempotent: false, permission: 'ask' })
 * const told = { subject: 'prod', unreadable: null, inputFault: null, preview: null, refused: null }
 * describedTool(deploy, told).subject?.({}) // => 'prod'
 */
export function describedTool(
  tool: Tool,
  { subject, unreadable, inputFault, preview, refused }: CallDescription,
): Tool {
  return {
    ...tool,
    subject() {
      if (unreadable !== null) throw new Error(unreadable)
      return subject
    },
    inputFault: () => inputFault,
    async preview() {
      if (refused !== null) throw new ToolFailure(refused.code, refused.message)
      return preview
    },
  }
}

/** A schema that is not supported proves nothing. */
function argumentsMismatch({ name, parameters }: ExternalTool, args: unknown): string | null {
  const schema = parameters as JsonObject
  if (jsonSchemaFault(schema) !== null) return null
  const mismatch = jsonSchemaMismatch(schema, JSON.stringify(args))
  return mismatch === null ? null : `The arguments of ${name} do not fit: the value ${mismatch}.`
}
