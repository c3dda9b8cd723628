// What a program may give `submit` and `run`: words, a workflow by its name, or the task as it goes over the
// wire; and the options of a task, which are the same for the client and for the AgentService.
import type { SubmitTask, TypedTask } from '@beaver/contracts'
import type { JsonValue, ModelSettings } from '@beaver/core'
import type { BudgetLimits } from '@beaver/core/budget'
import type { KnownWorkflowArguments } from '@beaver/team-patterns'

/**
 * The arguments of workflows, by name. A program adds its own workflows, and TypeScript then checks their
 * arguments:
 *
 * ```ts
 * declare module '@beaver/service' {
 *   interface WorkflowArguments {
 *     'workflow:sum_up': { text: string }
 *   }
 * }
 * ```
 */
export interface WorkflowArguments extends KnownWorkflowArguments {}

/** The arguments of the workflow with this name. Any object, if nobody has said what they are. */
export type ArgumentsOf<Name extends string> = Name extends keyof WorkflowArguments
  ? WorkflowArguments[Name]
  : Readonly<Record<string, unknown>>

/** A task in the fields of the wire. The arguments of its workflow, and its answer, may be typed. */
export type GivenTask<Output, Name extends string = string> = Omit<TypedTask<Output>, 'workflow'> & {
  /** A workflow that the task runs without a root agent. Give it instead of `task`. */
  readonly workflow?: { readonly name: Name; readonly arguments: ArgumentsOf<Name> } | undefined
}

/**
 * A task in words, or a workflow that runs without a root agent. Names of workflows: `GraphWorkflow`,
 * `workflow:<id>`, `AgentTeam`.
 */
export type TaskInput<Name extends string = string> =
  | string
  | { readonly workflow: Name; readonly arguments: ArgumentsOf<Name> }

/** The options of one task. */
export interface TaskOptions<Output = JsonValue> {
  /**
   * The zod type of the answer. The model must answer with JSON that fits the type, and `output` of the
   * result is a value of this type. Default: the answer is any text.
   */
  readonly output?: TypedTask<Output>['output']
  /**
   * The session of the task. Tasks of one session run one after the other, and each knows the earlier
   * requests and answers. Default: a new session.
   */
  readonly sessionId?: string | undefined
  /**
   * The id of the task. A repeated call with the same id and the same task does not start a second task, even
   * after a crash. Default: a new id.
   */
  readonly taskId?: string | undefined
  /** The absolute path of the folder in which the agents work. Default: the workspace of Beaver. */
  readonly workspace?: string | undefined
  /** The name of the skill to activate. Default: Beaver chooses skills for the task. */
  readonly skill?: string | undefined
  /** The profile of the root agent. Default: the profile of Beaver. */
  readonly profile?: string | undefined
  /**
   * The name of the model that the root agent asks: a model of the service or of the configuration. Default:
   * the model of the profile, otherwise the main model.
   */
  readonly model?: string | undefined
  /**
   * The settings of the root agent's requests to its model. Each field replaces the same field of the profile
   * and of the endpoint. Default: the settings of the profile and of the endpoint.
   */
  readonly modelSettings?: Omit<ModelSettings, 'extra_body'> | undefined
  /**
   * The names of the skills that the agents of the task may use; `[]` means none. Default: all loaded skills.
   */
  readonly skills?: readonly string[] | undefined
  /** Where the task comes from. The journal records this text. Default: `program`; of a client `nats`. */
  readonly source?: string | undefined
  /** The name of the task in the journal and on screens. Default: none. */
  readonly title?: string | undefined
  /**
   * The user for whom the task runs. A session belongs to one user, and each user has a memory (D-67).
   * Default: no user.
   */
  readonly userId?: string | undefined
  /**
   * The time zone of the user, such as `Europe/Zurich`. Agents see the date in this zone. Default: unknown;
   * agents see the date in UTC.
   */
  readonly timeZone?: string | undefined
  /**
   * What happens to a call that needs an approval: it waits for a decision, or it is refused. Default: of a
   * service, `wait` if it has `onApproval` or `onQuestion`, otherwise `refuse`; of a client, what the daemon is
   * configured to do.
   */
  readonly approvals?: 'wait' | 'refuse' | undefined
  /**
   * The most that the task may use, such as `{ usd: 0.5 }`. It may be less than Beaver gives a task, and not
   * more. Default: what Beaver gives a task.
   */
  readonly budget?: BudgetLimits | undefined
  /**
   * Whether answers are published live while a model writes them, for a client that follows the task. Default:
   * false; of a service, true if there is an `onDelta`.
   */
  readonly stream?: boolean | undefined
}

/**
 * The task of an input and its options, in the fields of the wire. An option takes the place of the field of
 * a task that is in these fields already.
 *
 * @example
 * const args = { members: ['optimist', 'sceptic'], message: 'Should we ship?' }
 * const task = typedTask({ workflow: 'AgentTeam', arguments: args }, { sessionId: 'plans' })
 * task.workflow?.name // => 'AgentTeam'
 * task.session_id // => 'plans'
 */
export function typedTask<Output, Name extends string = string>(
  input: GivenTask<Output, Name> | TaskInput<Name>,
  options: TaskOptions<Output> = {},
): TypedTask<Output> {
  const { skills } = options
  const fields: TypedTask<Output> = {
    output: options.output,
    session_id: options.sessionId,
    task_id: options.taskId,
    workspace: options.workspace,
    skill: options.skill,
    skills: skills === undefined ? undefined : [...skills],
    profile: options.profile,
    model: options.model,
    model_settings: options.modelSettings,
    source: options.source,
    title: options.title,
    user_id: options.userId,
    time_zone: options.timeZone,
    approvals: options.approvals,
    budget: options.budget,
    stream: options.stream,
  }
  const given = Object.entries(fields).filter(([, value]) => value !== undefined)
  return { ...inputFields(input), ...Object.fromEntries(given) } as TypedTask<Output>
}

function inputFields(input: string | object): Pick<SubmitTask, 'task' | 'workflow'> {
  if (typeof input === 'string') return { task: input }
  if (!('workflow' in input && typeof input.workflow === 'string')) return input
  const { workflow: name, arguments: args } = input as { workflow: string; arguments?: object }
  return { workflow: { name, arguments: { ...args } } }
}
