// The request of a new task, from what a person has written into the form, and the fields that a refusal is
// about. Pure.

/** An image that a person chose on this machine: its content in base64. */
export interface ChosenImage {
  readonly name: string
  readonly data: string
}

export interface StartForm {
  readonly text: string
  readonly title: string
  readonly workflow: string
  readonly profile: string
  readonly skill: string
  readonly model: string
  readonly workspace: string
  readonly session: string
  readonly user: string
  /** Limits of the budget, as texts. Empty: as configured. */
  readonly usd: string
  readonly tokens: string
  readonly minutes: string
  /** A JSON Schema. Empty: any text is an answer. */
  readonly schema: string
  /** Paths of images in the workspace, one a line. */
  readonly imagePaths: string
  readonly images: readonly ChosenImage[]
  /** Whether answers are published while they are written. */
  readonly stream: boolean
}

/** The fields that hold a text. */
export type TextField = Exclude<keyof StartForm, 'stream' | 'images'>

export const emptyForm: StartForm = {
  text: '',
  title: '',
  workflow: '',
  profile: '',
  skill: '',
  model: '',
  workspace: '',
  session: '',
  user: '',
  usd: '',
  tokens: '',
  minutes: '',
  schema: '',
  imagePaths: '',
  images: [],
  stream: true,
}

type Arguments = Readonly<Record<string, unknown>>

/** What is wrong, by field. */
export type FormFaults = Readonly<Partial<Record<keyof StartForm, string>>>

/** The body of the request, or what is wrong with the form. */
export type StartRequest =
  | { readonly body: Readonly<Record<string, unknown>> }
  | { readonly faults: FormFaults }

/** @param workflowArguments the arguments of the workflow. `null`: a root agent works on the task */
export function startRequest(form: StartForm, workflowArguments: Arguments | null): StartRequest {
  const isRoot = workflowArguments === null
  const [usd, tokens, minutes] = [amountOf(form.usd), amountOf(form.tokens), amountOf(form.minutes)]
  const schema = isRoot ? objectOf(form.schema) : undefined
  const wrong: readonly (readonly [keyof StartForm, boolean, string])[] = [
    ['text', isRoot && form.text.trim() === '', 'Write what is to be done.'],
    ['usd', usd === null, 'Write a number above 0, or nothing.'],
    ['tokens', tokens === null || !isWhole(tokens), 'Write a whole number above 0, or nothing.'],
    ['minutes', minutes === null, 'Write a number above 0, or nothing.'],
    ['schema', schema === null, 'This is no JSON object. A JSON Schema begins with {"type": …}.'],
  ]
  const faults = wrong.flatMap(([name, isWrong, says]) => (isWrong ? [[name, says] as const] : []))
  if (faults.length > 0) return { faults: Object.fromEntries(faults) }
  const texts = {
    title: form.title,
    workspace: form.workspace,
    session_id: form.session,
    user_id: form.user,
    // A task that is a workflow has no root agent, whose profile, skill and model these are.
    ...(isRoot ? { task: form.text, profile: form.profile, skill: form.skill, model: form.model } : {}),
  }
  const paths = form.imagePaths.split('\n').flatMap((path) => (path.trim() === '' ? [] : [path.trim()]))
  const images = isRoot ? [...paths, ...form.images] : []
  const limits = Object.entries({ usd, tokens, wall_ms: inMs(minutes) }).filter(([, limit]) => limit)
  return {
    body: {
      ...Object.fromEntries(
        Object.entries(texts).flatMap(([name, text]) => (text.trim() === '' ? [] : [[name, text.trim()]])),
      ),
      ...(isRoot ? {} : { workflow: { name: form.workflow, arguments: workflowArguments } }),
      ...(schema === undefined ? {} : { output_schema: schema }),
      ...(images.length === 0 ? {} : { images }),
      ...(limits.length === 0 ? {} : { budget: Object.fromEntries(limits) }),
      ...(form.stream ? { stream: true } : {}),
    },
  }
}

const isWhole = (amount: number | undefined): boolean => amount === undefined || Number.isInteger(amount)

const inMs = (minutes: number | undefined | null): number | undefined =>
  typeof minutes === 'number' ? Math.ceil(minutes * 60_000) : undefined

/** @returns `undefined`: nothing was written; `null`: it is no number above 0 */
function amountOf(text: string): number | undefined | null {
  if (text.trim() === '') return undefined
  const amount = Number(text)
  return Number.isFinite(amount) && amount > 0 ? amount : null
}

/** @returns `undefined`: nothing was written; `null`: it is no object */
function objectOf(text: string): object | undefined | null {
  if (text.trim() === '') return undefined
  try {
    const value = JSON.parse(text) as unknown
    return typeof value === 'object' && !Array.isArray(value) ? value : null
  } catch {
    return null
  }
}

/** Where each part of a request was written. */
const fieldOf: Readonly<Record<string, keyof StartForm>> = {
  task: 'text',
  title: 'title',
  workflow: 'workflow',
  profile: 'profile',
  skill: 'skill',
  model: 'model',
  workspace: 'workspace',
  session_id: 'session',
  user_id: 'user',
  'budget.usd': 'usd',
  'budget.tokens': 'tokens',
  'budget.wall_ms': 'minutes',
  output_schema: 'schema',
  images: 'images',
}

/** Why a task was not started: at its fields, and what belongs to none. */
export interface Refused {
  readonly form: FormFaults
  /** By argument of the workflow. */
  readonly arguments: Readonly<Record<string, string>>
  readonly rest: string | null
}

/** @param refusal the problem that the gateway answered with */
export function refusedAt(refusal: {
  readonly message: string
  readonly problems: readonly { readonly path: string; readonly message: string }[]
}): Refused {
  const form: Partial<Record<keyof StartForm, string>> = {}
  const ofArguments: Record<string, string> = {}
  let isPlaced = refusal.problems.length > 0
  for (const { path, message } of refusal.problems) {
    // The detail of one fault is a sentence; its message may go on after the name of its field.
    const says = refusal.problems.length === 1 ? refusal.message : `${path} ${message}`
    const parts = path.split('.').slice(path.startsWith('body.') ? 1 : 0)
    const [first = '', second = '', third = ''] = parts
    const field = fieldOf[`${first}.${second}`] ?? fieldOf[first]
    if (first === 'workflow' && second === 'arguments' && third !== '') ofArguments[third] = says
    else if (field === undefined) isPlaced = false
    else form[field] = says
  }
  return { form, arguments: ofArguments, rest: isPlaced ? null : refusal.message }
}

/** What a task was asked for, as its first event has it. */
export interface AskedFor {
  readonly text?: string
  readonly title?: string
  readonly profile?: string | null
  readonly skill?: string | null
  readonly model?: string
  readonly workspace?: string
  readonly workflow?: { readonly name: string; readonly arguments: Arguments }
  readonly budget?: { readonly usd?: number; readonly tokens?: number; readonly wall_ms?: number }
  readonly output_schema?: object
  readonly images?: readonly unknown[]
}

/** The form that asks for the same again. The images of the task are not in it: the journal has only their hashes. */
export function formOf(request: AskedFor): { readonly form: StartForm; readonly arguments: Arguments } {
  const { budget = {}, workflow } = request
  const amount = (limit: number | undefined): string => (limit === undefined ? '' : String(limit))
  return {
    form: {
      ...emptyForm,
      text: workflow === undefined ? (request.text ?? '') : '',
      title: request.title ?? '',
      workflow: workflow?.name ?? '',
      profile: request.profile ?? '',
      skill: request.skill ?? '',
      model: request.model ?? '',
      workspace: request.workspace ?? '',
      usd: amount(budget.usd),
      tokens: amount(budget.tokens),
      minutes: budget.wall_ms === undefined ? '' : String(budget.wall_ms / 60_000),
      schema: request.output_schema === undefined ? '' : JSON.stringify(request.output_schema, null, 2),
    },
    arguments: workflow?.arguments ?? {},
  }
}
