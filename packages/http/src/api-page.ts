// The document of the interface (OpenAPI 3.1) as a page for people. The page has no scripts and loads nothing
// from elsewhere, so its Content-Security-Policy can forbid both. Every text of the document is escaped.
import type { OpenApiDocument } from './openapi.ts'

interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
  readonly description?: string
  readonly default?: unknown
}

interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly tags: readonly string[]
  readonly 'x-role'?: string
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly required: boolean
    readonly description?: string
    readonly schema: Schema
  }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
  readonly responses: Readonly<
    Record<
      string,
      {
        readonly description: string
        readonly content: Readonly<Record<string, { readonly schema: Schema }>>
      }
    >
  >
}

interface Placed extends Operation {
  readonly method: string
  readonly path: string
}

/** The page, as HTML. */
export function apiPage({ info, paths, components }: OpenApiDocument): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, each]): Placed => ({ ...(each as Operation), method, path })),
  )
  const byTag = Map.groupBy(operations, ({ tags }) => tags[0] ?? 'other')
  const schemas = Object.entries(components.schemas as Readonly<Record<string, Schema>>).toSorted(
    ([a], [b]) => a.localeCompare(b),
  )
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${html(info.title)}: the HTTP interface</title><style>${style}</style></head>
<body>
<header><h1>${html(info.title)}: the HTTP interface</h1>
<p>${html(info.description)} Programs read the same in <a href="/api/openapi.json">openapi.json</a>.</p>
<p>A request needs a token, unless it says otherwise: <code>Authorization: Bearer …</code>. <code>beaver token create</code> makes one. A token has roles:
<code>read</code> looks at tasks, <code>submit</code> starts and controls them, <code>approve</code> decides calls, and <code>admin</code> does everything. For a
token with a user, the tasks and the sessions of other users do not exist (404).</p>
<p>In the examples, <code>$BEAVER</code> is the address of this page without <code>/api/docs</code>, and <code>$TOKEN</code> is your token. A field with
<b>*</b> must be there in a request, and is always there in an answer.</p>
<p>A failure is a <a href="#schema-Problem">problem</a> (RFC 9457) whose <code>code</code> says what happened. Below <code>/v1</code> it has
<a href="#schema-OpenAiError">the shape of OpenAI</a>.</p>
<nav>${[...byTag.keys()].map((tag) => `<a href="#tag-${html(tag)}">${html(tag)}</a>`).join(' ')} <a href="#schemas">shapes</a></nav></header>
<main>
${[...byTag].map(([tag, each]) => `<h2 id="tag-${html(tag)}">${html(tag)}</h2>\n${each.map(operationHtml).join('\n')}`).join('\n')}
<h2 id="schemas">shapes</h2>
${schemas.map(([name, schema]) => `<section id="schema-${html(name)}"><h3><code>${html(name)}</code></h3>${paragraph(schema.description)}${fieldsHtml(schema) || `<p>${typeHtml(schema)}</p>`}</section>`).join('\n')}
</main>
</body>
</html>
`
}

const eventStreamType = 'text/event-stream'

function operationHtml(operation: Placed): string {
  const { method, path, operationId, summary, parameters = [], requestBody, responses } = operation
  const role = operation['x-role']
  const body = requestBody?.content['application/json']?.schema
  const rows = parameters.map((each) =>
    row([each.name, each.in], each.required, { ...each.schema, description: each.description ?? '' }),
  )
  return `<section id="${html(operationId)}"><h3><span class="method">${html(method.toUpperCase())}</span> <code>${html(path)}</code></h3>
<p>${html(summary)} ${role === undefined ? 'It needs no token.' : `It needs the role <code>${html(role)}</code>.`}</p>
${rows.length === 0 ? '' : table(['name', 'in', 'type', 'meaning'], rows)}
${body === undefined ? '' : `<h4>Body</h4>${fieldsHtml(body) || `<p>${typeHtml(body)}</p>`}`}
<h4>Answer</h4>
${Object.entries(responses)
  .map(([status, { description, content }]) => {
    const kinds = Object.entries(content).map(
      ([kind, { schema }]) =>
        `<code>${html(kind)}</code>: ${kind === eventStreamType ? html(schema.description ?? '') : typeHtml(schema)}`,
    )
    const fields = Object.values(content)
      .map(({ schema }) => fieldsHtml(schema))
      .join('')
    return `<p><b>${html(status === 'default' ? 'failures' : status)}</b> ${html(description)} ${kinds.join('; ')}</p>${fields === '' ? '' : `<details><summary>Fields of the answer</summary>${fields}</details>`}`
  })
  .join('\n')}
<pre>${html(curl(operation, body !== undefined))}</pre></section>`
}

function curl({ method, path, 'x-role': role }: Placed, hasBody: boolean): string {
  const parts = [
    ...(method === 'get' ? [] : ['-X', method.toUpperCase()]),
    ...(role === undefined ? [] : ['-H "Authorization: Bearer $TOKEN"']),
    ...(hasBody ? ["-H 'Content-Type: application/json' -d @body.json"] : []),
  ]
  return ['curl -s', ...parts, `"$BEAVER${path.replaceAll('{', '<').replaceAll('}', '>')}"`].join(' ')
}

/** The fields of an object, with those of objects in it. Empty for everything else. */
function fieldsHtml(schema: Schema): string {
  const rows = fieldRows(schema, '', 0)
  return rows.length === 0 ? '' : table(['field', 'type', 'meaning'], rows)
}

const depthMax = 3

function fieldRows({ properties = {}, required = [] }: Schema, prefix: string, depth: number): string[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const inner = schema.properties === undefined ? (schema.items ?? {}) : schema
    const at = `${prefix}${name}`
    const below =
      depth === depthMax || inner.properties === undefined
        ? []
        : fieldRows(inner, `${at}${inner === schema ? '' : '[]'}.`, depth + 1)
    return [row([at], required.includes(name), schema), ...below]
  })
}

function row(
  [name, ...place]: readonly [name: string, place?: string],
  isRequired: boolean,
  schema: Schema,
): string {
  const usual =
    schema.default === undefined ? '' : ` Default: <code>${html(JSON.stringify(schema.default))}</code>.`
  const cells = [
    `<code>${html(name)}</code>${isRequired ? ' <b title="must be there">*</b>' : ''}`,
    ...place.map((each) => html(each ?? '')),
    typeHtml(schema),
  ]
  return `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}<td>${html(schema.description ?? '')}${usual}</td></tr>`
}

function typeHtml(schema: Schema): string {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.replace('#/components/schemas/', '')
    return `<a href="#schema-${html(name)}">${html(name)}</a>`
  }
  if (schema.const !== undefined) return `<code>${html(JSON.stringify(schema.const))}</code>`
  if (schema.enum !== undefined)
    return schema.enum.map((each) => `<code>${html(JSON.stringify(each))}</code>`).join(' or ')
  const either = schema.anyOf ?? schema.oneOf
  if (either !== undefined) return [...new Set(either.map(typeHtml))].join(' or ')
  if (schema.items !== undefined) {
    const item = typeHtml(schema.items)
    return item.includes(' or ') ? `list of (${item})` : `list of ${item}`
  }
  return html([schema.type ?? 'anything'].flat().join(' or '))
}

const table = (heads: readonly string[], rows: readonly string[]): string =>
  `<table><thead><tr>${heads.map((head) => `<th>${head}</th>`).join('')}</tr></thead><tbody>${rows.join('\n')}</tbody></table>`
const paragraph = (text: string | undefined): string => (text === undefined ? '' : `<p>${html(text)}</p>`)

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
const html = (text: string): string => text.replaceAll(/[&<>"']/g, (letter) => escapes[letter] ?? letter)

const style = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 60rem; margin: 0 auto; padding: 1rem }
nav a { margin-right: .8rem }
section { margin: 1.5rem 0; padding-top: .5rem; border-top: 1px solid #8885 }
h3 { font-size: 1.1rem; margin: .2rem 0 } h4 { margin: .8rem 0 .2rem }
.method { font-weight: 700; color: #0a7 }
table { border-collapse: collapse; width: 100%; font-size: .9rem; display: block; overflow-x: auto }
th { text-align: left } td, th { padding: .2rem .8rem .2rem 0; vertical-align: top; border-bottom: 1px solid #8883 }
pre { padding: .6rem; overflow-x: auto; background: #8882; border-radius: .3rem } code { font-size: .9em }
`
