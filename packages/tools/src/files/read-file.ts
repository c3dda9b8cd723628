// read_file: reads a part of one text file, and shows an image. What the path leads to after all links is
// judged by the rules like the path itself. Files whose names say that they hold secrets, and files with a
// second name, are read only if a rule with a pattern allows the path.
import {
  defineTool,
  type FilePart,
  imageText,
  isSecretPath,
  type OpenedFile,
  openFileInside,
  quoted,
  readFilePart,
  readImageFile,
  secretFile,
  type ToolContext,
  ToolFailure,
  workspaceRoot,
} from '@beaver/agent/tool-kit'
import { z } from 'zod'
import { shownPath } from './new-path.ts'

export const bytesDefault = 64 * 1024
/** A tool result has at most 200,000 characters. A longer text might not fit. */
export const bytesLimit = 128 * 1024

export const readFile = defineTool({
  name: 'read_file',
  description: 'Reads text or an image. "next_offset": where to go on.',
  input: z.strictObject({
    path: z.string(),
    offset: z.int().min(0).default(0),
    bytes_max: z.int().min(1).max(bytesLimit).default(bytesDefault).meta({ brief: null }),
  }),
  idempotent: true,
  effects: 'reads',
  subject: ({ path }) => shownPath(path),
  subjectKind: 'path',
  async run({ path, offset, bytes_max }, context): Promise<FilePart> {
    await using file = await openFileInside(workspaceRoot(context.workspace), path, {
      hardLinks: hardLinksOf(context, path),
    })
    context.signal.throwIfAborted()
    mustBeReadable(path, file, context)
    context.reads({ files: [file.real] })
    const part = await readFilePart(file, { offset, bytesMax: bytes_max })
    return part.encoding === 'binary' && offset === 0 ? await withImage(part, file, context) : part
  },
})

/** A file that is an image is shown, as view_image shows it. */
async function withImage(part: FilePart, file: OpenedFile, { showImage }: ToolContext): Promise<FilePart> {
  if (showImage === undefined) return part
  try {
    const { content } = await readImageFile(file)
    return {
      ...part,
      bytes_read: content.length,
      text: `You are shown the ${imageText(await showImage(content, file.shown))}.`,
    }
  } catch (error) {
    if (!(error instanceof ToolFailure)) throw error
    return error.code === 'not_an_image' ? part : { ...part, text: error.message }
  }
}

type Judge = Pick<ToolContext, 'permission'>

/** Whether a file with a second name may be read. */
export const hardLinksOf =
  (context: Judge, path: string) =>
  (real: string): boolean =>
    isAllowed(context, shownPath(path)) || isAllowed(context, real)

const isAllowed = ({ permission }: Judge, path: string): boolean => {
  const { decision, explicit } = permission(path)
  return explicit && decision !== 'deny'
}

/** @throws {ToolFailure} `permission_denied`, `secret_file` */
export function mustBeReadable(
  path: string,
  { shown, real }: { readonly shown: string; readonly real: string },
  context: Judge,
): void {
  mayFollow(path, { shown, real }, context)
  const secret = [shown, real].filter(isSecretPath)
  if (secret.some((each) => !isAllowed(context, each))) throw secretFile(path)
}

/**
 * Whether a file or a folder may be read, for which the rules judged the path as it was asked for.
 *
 * @throws {ToolFailure} `permission_denied` if a link leads to what the rules do not allow
 */
export function mayFollow(
  path: string,
  { shown, real }: { readonly shown: string; readonly real: string },
  context: Judge,
): void {
  if (real !== shown) {
    const [asked, led] = [context.permission(shown), context.permission(real)]
    if (led.decision === 'deny' || (led.decision === 'ask' && asked.decision === 'allow'))
      throw new ToolFailure(
        'permission_denied',
        `${quoted(path)} is a link to ${quoted(real)}, ${led.decision === 'deny' ? 'which a rule forbids' : 'for which a person is asked. Call with that path'}.`,
      )
  }
}
