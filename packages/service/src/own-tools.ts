// The tools of the embedding program. They run in its process, so that they can use its connections and
// caches. A call never rejects: a failure is a result that the model reads. A call ends when its signal
// aborts, whatever the tool does. Before the loop in the worker thread judges a call, it asks here for the
// call's subject, input faults and preview, so that permission rules hold for these tools as for all others.
// Names are checked when the service is made: they are unique, have only allowed characters, and differ from
// the names of built-in tools and workflows.
import {
  addedToolNames,
  type CallDescription,
  callImages,
  type ExternalCall,
  type ExternalImage,
  type ExternalResult,
  type ExternalTool,
  type ExternalTools,
  permissionOnSubject,
  type PermissionRule,
  type Tool,
  type ToolContext,
  ToolFailure,
  ToolInputError,
} from '@beaver/agent'
import { BeaverError, messageOf } from '@beaver/core'
import { builtinTools } from '@beaver/tools'
import { findWorkflow } from '@beaver/workflows'

/**
 * Offers the tools as external tools of the daemon.
 *
 * @param rules the permission rules of the configuration, for tools that ask about a subject while they run
 * @throws {BeaverError} `invalid_configuration`
 */
export function ownTools(tools: readonly Tool[], rules: readonly PermissionRule[] = []): ExternalTools {
  const byName = new Map<string, Tool>()
  for (const tool of tools) {
    const fault = nameFault(tool.name, byName) ?? placeFault(tool)
    if (fault !== null)
      throw new BeaverError('invalid_configuration', fault, { problems: [{ path: 'tools', message: fault }] })
    byName.set(tool.name, tool)
  }
  return {
    tools: tools.map(offered),
    onChange: () => () => {},
    async describe(call) {
      const tool = byName.get(call.name)
      return tool === undefined
        ? { ...nothingKnown, unreadable: `there is no tool ${call.name} here` }
        : await describe(
            tool,
            call.arguments,
            contextOf(call, AbortSignal.timeout(previewMsMax), tool, rules),
          )
    },
    async call(call, signal, ask, progress) {
      const tool = byName.get(call.name)
      if (tool === undefined) return failed('tool_not_available', `There is no tool ${call.name} here.`)
      const aborted = whenAborted(signal)
      const { showImage, images } = shownImages()
      try {
        const context = {
          ...contextOf(call, signal, tool, rules),
          showImage,
          ...(ask === undefined ? {} : { ask }),
          ...(progress === undefined ? {} : { progress }),
        }
        const content = await Promise.race([tool.invoke(call.arguments, context), aborted.promise])
        return { success: true, error: null, content, ...(images.length === 0 ? {} : { images }) }
      } catch (error) {
        if (error instanceof ToolInputError) return failed('invalid_arguments', error.message)
        if (error instanceof ToolFailure) return failed(error.code, error.message)
        return failed(signal.aborted ? 'cancelled' : 'tool_crash', `${tool.name} failed: ${messageOf(error)}`)
      } finally {
        aborted.release()
      }
    },
  }
}

/** Collects the images that a call shows. They are checked here; the loop stores them. */
function shownImages(): {
  readonly showImage: NonNullable<ToolContext['showImage']>
  readonly images: readonly ExternalImage[]
} {
  const images: ExternalImage[] = []
  const { show } = callImages({ storeBlob: async () => {} })
  return {
    images,
    async showImage(content, name) {
      const image = await show(content, name)
      images.push({ content: new Uint8Array(content), ...(name === undefined ? {} : { name }) })
      return image
    },
  }
}

function offered(tool: Tool): ExternalTool {
  const {
    name,
    description,
    parameters,
    idempotent,
    permission = 'allow',
    timeoutMs,
    pure,
    effects = pure === true ? 'none' : undefined,
    sink,
    reads,
    subjectKind,
  } = tool
  return {
    name,
    description,
    parameters,
    idempotent,
    permission,
    describes: true,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(subjectKind === undefined ? {} : { subjectKind }),
    ...(effects === undefined ? {} : { effects }),
    ...(sink === undefined ? {} : { sink }),
    // A function cannot be sent to a thread. Without it nobody there knows what the call reads, so every
    // result counts as untrusted.
    ...(reads === undefined ? {} : { reads: typeof reads === 'function' ? 'untrusted' : reads }),
  }
}

/** A preview that takes longer than this, in milliseconds, is left out. */
const previewMsMax = 10_000
const nothingKnown: CallDescription = {
  subject: null,
  unreadable: null,
  inputFault: null,
  preview: null,
  refused: null,
}

/** Describes a call. If the tool's `subject` throws, `unreadable` says why, and no rule can be evaluated. */
async function describe(tool: Tool, args: unknown, context: ToolContext): Promise<CallDescription> {
  const inputFault = valueOrError(() => tool.inputFault?.(args) ?? null)
  const subject = valueOrError((): unknown => tool.subject?.(args) ?? null)
  const known = { ...nothingKnown, inputFault: 'value' in inputFault ? inputFault.value : null }
  if (!('value' in subject)) return { ...known, unreadable: subject.error }
  if (subject.value !== null && typeof subject.value !== 'string')
    return { ...known, unreadable: `its subject is a ${typeof subject.value}, not text` }
  const described = { ...known, subject: subject.value }
  if (tool.preview === undefined) return described
  const late = whenAborted(context.signal)
  try {
    return { ...described, preview: await Promise.race([tool.preview(args, context), late.promise]) }
  } catch (error) {
    return error instanceof ToolFailure
      ? { ...described, refused: { code: error.code, message: error.message } }
      : described
  } finally {
    late.release()
  }
}

function valueOrError<Value>(compute: () => Value): { readonly value: Value } | { readonly error: string } {
  try {
    return { value: compute() }
  } catch (error) {
    return { error: messageOf(error) }
  }
}

const failed = (error: string, content: string): ExternalResult => ({ success: false, error, content })

function nameFault(name: string, known: ReadonlyMap<string, Tool>): string | null {
  const quoted = JSON.stringify(name)
  if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name))
    return `The tool name ${quoted} is not valid: use 1 to 64 of a-z A-Z 0-9 _ -.`
  if (known.has(name)) return `Two tools are called ${quoted}. Give one of them another name.`
  if (builtinTools().some((tool) => tool.name === name))
    return `The tool ${quoted} has the name of a built-in tool. Give it another name.`
  if (addedToolNames.has(name))
    return `The tool ${quoted} has the name of a tool that Beaver adds where it is needed. Give it another name.`
  if (findWorkflow(name) !== null)
    return `The tool ${quoted} has the name of a workflow tool. Give it another name.`
  return null
}

function placeFault({ name, isolation }: Tool): string | null {
  return isolation === undefined
    ? null
    : `The tool ${JSON.stringify(name)} needs a cell, and a cell can only load modules. Name the tool's module in "tools".`
}

/**
 * The context of a call. It has no memory, session search or other tools: the tool reaches its own program.
 */
function contextOf(
  { callId, run }: ExternalCall,
  signal: AbortSignal,
  tool: Tool,
  rules: readonly PermissionRule[],
): ToolContext {
  const refuse = (capability: string): Promise<never> =>
    Promise.reject(new ToolFailure('tool_not_available', `A tool of a program has no ${capability}.`))
  return {
    workspace: run?.workspace ?? '',
    taskId: run?.taskId ?? '',
    sessionId: run?.sessionId ?? '',
    runId: run?.runId ?? '',
    ...(run?.trace === undefined ? {} : { trace: run.trace }),
    callId,
    sharedState: null,
    skills: [],
    memory: () => refuse('memory'),
    searchSessions: () => refuse('session search'),
    callExternal: () => refuse('other tools'),
    ask: () => refuse('way to ask a person before it runs'),
    permission: (subject) => permissionOnSubject(tool, subject, rules),
    progress: () => {},
    reads() {
      throw new ToolFailure(
        'tool_not_available',
        'A tool of a program cannot tell what it reads. Declare "reads".',
      )
    },
    signal,
  }
}

function whenAborted(signal: AbortSignal): { readonly promise: Promise<never>; release(): void } {
  const { promise, reject } = Promise.withResolvers<never>()
  promise.catch(() => {})
  const onAbort = (): void => reject(signal.reason as Error)
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort, { once: true })
  return { promise, release: () => signal.removeEventListener('abort', onAbort) }
}
