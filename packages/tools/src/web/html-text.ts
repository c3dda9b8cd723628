// Converts HTML to text in a cell, under the call's deadline, because a hostile page could take minutes.
import { createRequire } from 'node:module'
import { defineTool, inCell, type ToolContext, wholeEnd } from '@beaver/agent/tool-kit'
import { z } from 'zod'

export interface HtmlText {
  readonly title: string | null
  readonly text: string
  /** The length of the whole text. */
  readonly chars: number
}

const depthMax = 200
const titleCharsMax = 300

/** The cell finds it by this name. */
export const htmlToTextTool = defineTool({
  name: 'html_to_text',
  description: 'Turns HTML into text. Used by web_fetch.',
  input: z.strictObject({ html: z.string(), base_url: z.string(), chars_max: z.int() }),
  isolation: 'thread',
  run: ({ html, base_url, chars_max }): HtmlText => {
    // Only cells load this large package, which has no types.
    const { convert } = createRequire(import.meta.url)('html-to-text') as {
      convert(html: string, options: object): string
    }
    const options = {
      wordwrap: false,
      limits: { maxDepth: depthMax },
      selectors: [
        ...['img', 'svg', 'template', 'noscript', 'iframe'].map((selector) => ({ selector, format: 'skip' })),
        ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({
          selector,
          options: { uppercase: false },
        })),
        {
          selector: 'a',
          options: {
            hideLinkHrefIfSameAsText: true,
            noAnchorUrl: true,
            pathRewrite: (path: string) => URL.parse(path, base_url)?.href ?? path,
          },
        },
      ],
    }
    const [, title = ''] = /<title[^>]{0,200}>([^<]{0,2000})/i.exec(html) ?? []
    const text = convert(html, options).trim()
    return {
      title: convert(title, { wordwrap: false }).trim().slice(0, titleCharsMax) || null,
      text: text.slice(0, text.length > chars_max ? wholeEnd(text, chars_max) : undefined),
      chars: text.length,
    }
  },
})

/** @throws the end of the cell; the reason of the signal */
export async function htmlToText(
  html: string,
  options: { readonly baseUrl: URL; readonly charsMax: number },
  context: ToolContext,
): Promise<HtmlText> {
  const args = { html, base_url: options.baseUrl.href, chars_max: options.charsMax }
  return JSON.parse(await inCell(htmlToTextTool, import.meta.url).invoke(args, context)) as HtmlText
}
