// Profiles and workflows that are written in TypeScript. They are checked where they are defined, and the
// daemon gets them as files. A fault is reported where it is written, not when a task fails. The folder
// contains only the definitions of this service, never those of an earlier one. Only the holder of the home's
// lock writes it.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type AgentProfileInput, readProfile } from '@beaver/agent'
import { BeaverError, type Problem } from '@beaver/core'
import { readDefinition, type WorkflowDefinitionInput } from '@beaver/workflows'

/**
 * A workflow and its id. The other fields are those of a definition file
 * (docs/reference/workflow-definitions.md).
 */
export interface WorkflowInput extends WorkflowDefinitionInput {
  /**
   * An agent calls the workflow as `workflow:<id>`. The id has at most 64 letters, digits, `_`, `-` and `.`,
   * and does not begin with `-` or `.`.
   */
  readonly id: string
}

/**
 * Checks a profile of root agents, and returns it.
 *
 * @throws {BeaverError} `invalid_configuration`
 * @example
 * const clerk = defineProfile({ name: 'clerk', system_prompt: 'You answer in one sentence.', tool_ids_inventory: ['system:read_file'] })
 * clerk.name // => 'clerk'
 * defineProfile({ name: '' }) // throws invalid_configuration
 */
export function defineProfile(profile: AgentProfileInput): AgentProfileInput {
  const { diagnostics } = readProfile(profile)
  refuseIf(`The profile ${JSON.stringify(profile.name)}`, diagnostics)
  return profile
}

/**
 * Checks a workflow, and returns it. Agents call it as `workflow:<id>`, and a task may run it. Whether the
 * tools and agents that it names exist is checked when the service boots.
 *
 * @throws {BeaverError} `invalid_configuration`
 * @example
 * const sumUp = defineWorkflow({
 *   id: 'sum_up',
 *   description: 'Sums up a text. Choose it when someone asks what a text says.',
 *   interfaceInputs: { text: { dataFlowType: 'STRING', required: true } },
 *   interfaceOutputs: { summary: { dataFlowType: 'STRING' } },
 *   nodes: [{ id: 'summary', kind: 'agent', instruction: 'Sum up in one sentence: {{ inputs.text }}' }],
 * })
 * sumUp.id // => 'sum_up'
 * defineWorkflow({ ...sumUp, nodes: [] }) // throws invalid_configuration
 */
export function defineWorkflow(workflow: WorkflowInput): WorkflowInput {
  const { id, ...file } = workflow
  if (!/^[\p{L}\p{N}_][\p{L}\p{N}_.-]{0,63}$/u.test(id))
    refuseIf('The workflow', [
      {
        path: 'id',
        message: `The id ${JSON.stringify(id)} must be 1 to 64 letters, digits, "_", "-" or "."`,
      },
    ])
  const { diagnostics } = readDefinition(id, JSON.parse(JSON.stringify(file)))
  const faults = diagnostics.filter(({ severity }) => severity === 'error')
  refuseIf(`The workflow ${JSON.stringify(id)}`, faults)
  return workflow
}

function refuseIf(what: string, faults: readonly Problem[]): void {
  if (faults.length === 0) return
  const problems = faults.map(({ path, message }) => ({ path, message }))
  const lines = problems.map(({ path, message }) =>
    path === '' || message.includes(path) ? message : `${path}: ${message}`,
  )
  throw new BeaverError('invalid_configuration', `${what} is not valid: ${lines.join(' ')}`, { problems })
}

/** Where the daemon finds the definitions: files of profiles and folders of workflows. */
export interface DefinitionPlaces {
  readonly profiles: readonly string[]
  readonly workflows: readonly string[]
}

export function writeDefinitions(
  home: string,
  of: { profiles: readonly AgentProfileInput[]; workflows: readonly WorkflowInput[] },
): DefinitionPlaces {
  const folder = join(home, 'run', 'program')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(join(folder, 'workflows'), { recursive: true })
  const write = (file: string, content: object): string => {
    writeFileSync(file, `${JSON.stringify(content, null, 2)}\n`)
    return file
  }
  const profiles = of.profiles.map((profile, i) => write(join(folder, `profile-${i + 1}.json`), profile))
  for (const { id, ...file } of of.workflows) write(join(folder, 'workflows', `${id}.json`), file)
  return { profiles, workflows: of.workflows.length === 0 ? [] : [join(folder, 'workflows')] }
}
