// view_image: shows one image of the workspace to the model. The path is judged as read_file judges it, and
// the rules for read_file hold for this tool, too. The model sees the image with the next request; the result
// says what it is.
import {
  defineTool,
  imageText,
  openFileInside,
  readImageFile,
  ToolFailure,
  workspaceRoot,
} from '@beaver/agent/tool-kit'
import { z } from 'zod'
import { shownPath } from './new-path.ts'
import { hardLinksOf, mustBeReadable } from './read-file.ts'

export const viewImage = defineTool({
  name: 'view_image',
  description: 'Shows you an image: png, jpeg, gif or webp.',
  input: z.strictObject({ path: z.string() }),
  idempotent: true,
  effects: 'reads',
  subject: ({ path }) => shownPath(path),
  subjectKind: 'path',
  ruledAs: 'read_file',
  async run({ path }, context): Promise<string> {
    if (context.showImage === undefined)
      throw new ToolFailure('images_unavailable', 'No image can be shown here.')
    await using file = await openFileInside(workspaceRoot(context.workspace), path, {
      hardLinks: hardLinksOf(context, path),
    })
    context.signal.throwIfAborted()
    mustBeReadable(path, file, context)
    const { content } = await readImageFile(file)
    return `You are shown the ${imageText(await context.showImage(content, file.shown))}.`
  },
})
