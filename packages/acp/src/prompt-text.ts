// The text of a task from the blocks of a prompt. Pure. A file that the user mentions stays a link: agents
// read it with their tools, so that permissions and labels hold for it.
import { type ContentBlock, RequestError } from '@agentclientprotocol/sdk'
import { fileURLToPath } from 'node:url'

/**
 * @throws {RequestError} invalid params: the prompt is empty, or a block is of a kind that `initialize` did
 * not offer
 */
export function promptText(blocks: readonly ContentBlock[]): string {
  const text = blocks.map(blockText).join('').trim()
  if (text === '') throw RequestError.invalidParams({ path: 'prompt' }, 'The prompt has no text.')
  return text
}

function blockText(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return block.text
    case 'resource_link':
      return `[${oneLine(block.name)}](${oneLine(pathOf(block.uri) ?? block.uri)})`
    case 'resource':
    case 'image':
    case 'audio':
      throw RequestError.invalidParams(
        { path: 'prompt' },
        `Beaver takes text and links to files, and no block of the type ${block.type}. Save an image in the folder of the session and mention it: the agent looks at it with view_image.`,
      )
    default:
      return block satisfies never
  }
}

/** The path of a file URI. `null`: it is none, or names a file of another machine. */
function pathOf(uri: string): string | null {
  try {
    return uri.startsWith('file:') ? fileURLToPath(uri) : null
  } catch {
    return null
  }
}

const oneLine = (text: string): string => text.replaceAll(/\s+/gu, ' ').trim()
