// Which files are documents, by the end of their name. Only formats that are text.

/** `markdown` has headings; of `html`, the text between the tags is searched. */
export type DocumentFormat = 'text' | 'markdown' | 'html'

const formats: ReadonlyMap<string, DocumentFormat> = new Map([
  ...['md', 'markdown', 'mdx'].map((end) => [end, 'markdown'] as const),
  ...['html', 'htm', 'xhtml'].map((end) => [end, 'html'] as const),
  ...[
    'txt',
    'text',
    'rst',
    'adoc',
    'asciidoc',
    'org',
    'tex',
    'csv',
    'tsv',
    'json',
    'jsonl',
    'yaml',
    'yml',
    'log',
  ].map((end) => [end, 'text'] as const),
])

/** The format of a file, or `null` if it is no document. */
export function formatOf(file: string): DocumentFormat | null {
  const [, end = ''] = /\.([a-z]{1,10})$/i.exec(file) ?? []
  return formats.get(end.toLowerCase()) ?? null
}
