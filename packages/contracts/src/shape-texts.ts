// What the fields of shapes mean that several events, requests or answers hold.
// A shape has its texts by its zod schema, so they appear wherever the schema is part of another one.
import {
  type EvidenceCheck,
  evidenceCheck,
  type ExecutionGraph,
  executionGraph,
  type ExecutionNode,
  executionNode,
  type Failure,
  failure,
  imagePart,
  type ImagePart,
  type LiveDelta,
  liveDelta,
  type LiveProgress,
  liveProgress,
  type MachineRequirement,
  machineRequirement,
  type NodeOutput,
  question,
  type Question,
  questionAnswer,
  type QuestionAnswer,
  nodeOutput,
  type SharedStateChange,
  sharedStateChange,
  type Taint,
  taint,
  type TaskRequest,
  taskRequest,
  type FailedResult,
  type TaskResult,
  type ToolCall,
  toolCall,
  type Usage,
  usage,
} from '@beaver/core'
import type { z } from 'zod'
import type { Texts, TextsOf } from './field-texts.ts'
import { ofModelSettings } from './model-settings-texts.ts'
import { taskOutcome } from './requests/submit.ts'

const ofUsage: TextsOf<Usage> = {
  input_tokens: 'The tokens that were sent to the model, as the provider reported them.',
  output_tokens: 'The tokens that the model wrote, as the provider reported them.',
  calls: 'The number of calls of the model.',
  cached_input_tokens:
    'How many of input_tokens the provider read from a cache. Absent: none that it reported.',
  cache_write_tokens:
    'How many of input_tokens the provider wrote to a cache. Absent: none that it reported.',
  reasoning_tokens: 'How many of output_tokens were thoughts. Absent: none that the provider reported.',
  audio_input_tokens: 'How many of input_tokens were audio. Absent: none that the provider reported.',
  audio_output_tokens: 'How many of output_tokens were audio. Absent: none that the provider reported.',
  unknown_calls:
    'How many calls have no token counts from the provider, or counts that cannot be right. Absent: none.',
}

const ofFailure: TextsOf<Failure> = {
  class: 'The class of the failure. It decides what Beaver does next.',
  message: 'What failed, for people.',
}

const ofToolCall: TextsOf<ToolCall> = {
  id: 'The id of the call, unique in its run.',
  name: 'The name of the tool.',
  arguments: 'The arguments as the model sent them. The text may not be JSON.',
  extra_content: 'What goes back to the provider of the answer with this call, unchanged. Absent: nothing.',
}

export const ofQuestion: TextsOf<Question> = {
  message: 'The text of the question.',
  options: 'What may be chosen. Absent: nothing is offered.',
  free_text: "Whether a text of the person's own is an answer, too. Absent: only if there are no options.",
  several: 'Whether several answers may be given. Absent: one.',
  form: 'The JSON Schema of the answer: an object whose fields are primitive. Absent: the question has no form.',
  timeout_ms:
    'For how many milliseconds the answer is waited for. Absent, and the most: permissions.wait_ms_max.',
}

export const ofAnswer: TextsOf<QuestionAnswer> = {
  action:
    'accept: the question is answered. decline: the person does not want to answer. cancel: nobody answers.',
  answers:
    'The options that were chosen, or the text. Absent: the question has a form, or there is no answer.',
  content: 'The fields of the form. Absent: the question has no form, or there is no answer.',
}

const ofTaint: TextsOf<Taint> = {
  untrusted: 'Where text of strangers came from. Beaver keeps the first five sources. Empty: there is none.',
  secret: 'Where secrets came from. Beaver keeps the first five sources. Empty: there is none.',
  public: 'Whether everything is public, so that nobody learns anything new from it.',
}

const ofImage: TextsOf<ImagePart> = {
  media_type: 'Its kind, as its first bytes say.',
  sha256:
    'The SHA-256 of its content, in hexadecimal digits. The blob store has the content under this name.',
  bytes: 'The length of its content in bytes.',
  name: 'Its path in the workspace, or the name that its sender gave it. Absent: it has none.',
  width: 'Its width in pixels. Absent: it is not known.',
  height: 'Its height in pixels. Absent: it is not known.',
}

const ofNodeOutput: TextsOf<NodeOutput> = { node_id: 'The node.', output: 'The text that the node returned.' }

/** A result, as the events that end a task and the answer of `task.run` have it. */
export const ofTaskResult: TextsOf<TaskResult> = {
  final_output: 'The answer. It is empty if the task did not complete.',
  outputs:
    'The outputs of the nodes that completed, in declared order. The list is empty if the task had no team.',
  usage: 'What all calls of models in this task used.',
  provider: 'The provider that gave the last answer. null: no model answered.',
  model: 'The model that gave the last answer. null: no model answered.',
  simulated: 'Whether the simulated model answered.',
  failure: 'Why the task did not complete. null: it completed.',
  evidence:
    'The verdict on each requirement of the task. Absent: the task has no requirements, or it ended without a text.',
  output: 'The answer as a JSON value. Absent: the task has no output_schema, or it did not complete.',
  taint:
    "The labels of the answer: where strangers' text and secrets came from. Absent: the answer has none.",
}

export const ofFailedResult: TextsOf<FailedResult> = {
  ...ofTaskResult,
  unfit_output:
    'What the agent said, if the task failed because of it: it does not fit its JSON Schema (output_invalid), or lacks the required evidence (evidence_missing). Absent: the task failed otherwise.',
}

const ofTaskRequest: TextsOf<TaskRequest> = {
  required_evidence:
    'What the final text of the task must rest on. A sentence is for the root agent; code checks an object. Absent: nothing.',
  output_schema: 'The JSON Schema of the final answer of the root agent. Absent: any text.',
  text: 'What to do, in words. It is empty if the task is a workflow.',
  workspace: 'The absolute path of the folder in which the agents may work.',
  skill: 'The skill that the request names. null: it names none.',
  source: 'Who submitted the task, such as "cli".',
  workflow: [
    'The workflow that the task runs without a root agent. Absent: a root agent works on the task.',
    { name: 'The name of the workflow.', arguments: 'The arguments of the workflow.' },
  ],
  profile: 'The profile of the root agent. Absent: the default profile.',
  model: 'The name of the model that the root agent asks. Absent: that of its profile, or the main one.',
  model_settings: [
    'How the root agent asks it. Each field takes the place of the same one of the profile and of the endpoint. Absent: as they say.',
    ofModelSettings,
  ],
  skills: 'The only skills that the agents of the task may have. Absent: all that are loaded.',
  stream: 'Whether answers are streamed and published live. Absent: they are not.',
  approvals:
    'What happens to calls that need an approval. refuse: nobody can answer. Absent: what the daemon is configured to do.',
  title: 'The name that the client gave the task.',
  user_id: 'The user for whom the task is.',
  time_zone: 'The time zone of the user, such as Europe/Zurich. Absent: it is not known.',
  retry_of: 'The ended task that this task retries. Absent: it is no retry.',
  instructions: 'What the client asks of the root agent beside its task. Absent: nothing.',
  history: [
    'A conversation that the client kept, oldest first. The root agent is given it after the history of the session. Absent: none.',
    { role: 'Who wrote the message.', content: 'The text of the message.' },
  ],
  history_until:
    'The earlier task of the session with which the history that the root agent is given ends. Absent: the newest one.',
  images:
    'The images that the root agent is shown with its task, as they were when the task was accepted. Absent: none.',
}

const place = {
  node_id: 'The id of the node, unique in the graph.',
  depends_on: 'The nodes that must end before this node starts.',
  quorum: 'How many of the nodes in depends_on must complete. Absent: all.',
  deadline_ms: 'How long the run of the node may take, in milliseconds. Absent: the configured limit.',
  settings: 'Settings for the program of the workflow.',
}

const requirements = 'What the result must rest on. A sentence is for the worker; code checks an object.'

const agentTexts: TextsOf<Extract<ExecutionNode, { kind: 'agent' }>> = {
  kind: 'An AgentLoop does the work of the node.',
  ...place,
  agent: [
    'The agent of the node.',
    {
      name: 'The name of the agent.',
      role: 'Always empty: nodes have no roles.',
      system_prompt: 'What the system prompt says about the agent.',
      metadata: [
        'Where the agent comes from.',
        {
          sub_agent_kind: 'The kind of every agent of a team.',
          workflow_tool: 'The workflow that built the node.',
          workflow_agent_name: 'The name of the agent in the arguments of the workflow.',
        },
      ],
    },
  ],
  instruction: 'What the agent is to do.',
  use_skill: 'The skill that the node names. Absent: none.',
  skill_query:
    'What Beaver searches for to find a skill. Absent: Beaver does not search by a query of the node.',
  allowed_tool_names: 'The only tools that the node may have. null: no limit. An empty list: no tools.',
  required_evidence: requirements,
  validation_rules: 'Rules for the output, in the same form as required_evidence. Absent: none.',
  evidence_contract:
    'How the worker must give evidence, in words. Code never checks it. Absent: nothing is said.',
  model: 'The name of the model of the worker in the configuration. Absent: the main model.',
  output_schema: 'The JSON Schema of its output. Absent: any text.',
  model_settings: [
    'How the worker asks its model, beyond what the endpoint sets. Absent: as the endpoint sets.',
    ofModelSettings,
  ],
}
const toolTexts: TextsOf<Extract<ExecutionNode, { kind: 'tool' }>> = {
  kind: 'The node makes one call of one tool, without a model.',
  ...place,
  tool: 'The name of the tool.',
  arguments: 'The arguments of the call.',
}
const codeTexts: TextsOf<Extract<ExecutionNode, { kind: 'code' }>> = {
  kind: 'The program of the workflow computes the output of the node.',
  ...place,
  operation: 'The operation of the program.',
}
const nodeTexts = { agent: agentTexts, tool: toolTexts, code: codeTexts }

const ofGraph: TextsOf<ExecutionGraph> = {
  workflow: 'The workflow that built the graph.',
  task: 'What the team is to do.',
  nodes: 'The nodes, in declared order.',
  outputs: 'The nodes whose outputs are the outputs of the team, in declared order.',
  output: 'The node whose text is the final output of the team. null: the final output combines all outputs.',
  deliver:
    'user: the final output of the complete team is the answer of the task, word for word. Absent: the root agent goes on with it.',
  deadline_ms: 'How long the whole team may take, in milliseconds. Absent: the configured limit.',
  settings: 'Settings for the program of the workflow.',
  shared_state: 'The state that the members share at the start. Absent: the members share no state.',
}

const ofPath =
  'A JSON Pointer (RFC 6901) to the part of the output, which is JSON, that is checked. Absent: the whole output.'

const requirementTexts: {
  readonly [Kind in MachineRequirement['kind']]: TextsOf<
    Omit<Extract<MachineRequirement, { kind: Kind }>, 'kind'>
  >
} = {
  tool_succeeded: {
    tool: 'The name of the tool.',
    times_min: 'How many calls must succeed. Absent: one.',
    arguments_match: 'What the arguments of these calls must contain. Absent: the arguments do not matter.',
  },
  output_length: {
    path: ofPath,
    min: 'The least number of characters. Absent: no limit.',
    max: 'The greatest number of characters. Absent: no limit.',
  },
  output_matches: {
    path: ofPath,
    pattern: 'A regular expression (RE2), which may match anywhere in the output.',
  },
  output_contains: { path: ofPath, texts: 'The texts. The output must contain each exactly.' },
  output_schema: { path: ofPath, schema: 'The JSON Schema that the output must fit.' },
  output_cites: {
    path: ofPath,
    sources: 'The sources that the output must name. Absent: any source that from_tool gave.',
    from_tool: 'The tool whose successful calls must have the sources. Absent: the tools do not matter.',
    times_min: 'How many sources the output must name. Absent: all of sources; without sources, one.',
    only: 'Whether the output may name no other sources. Absent: it may name others.',
  },
  numbers_from_tools: {
    path: ofPath,
    tools: 'The tools whose successful results must have the numbers.',
    allow: 'Numbers that are allowed anyway. Absent: none.',
    integers_below: 'Whole numbers below this one are allowed anyway. Absent: 0.',
  },
  numbers_from_dependencies: {
    path: ofPath,
    allow: 'Numbers that are allowed anyway. Absent: none.',
    integers_below: 'Whole numbers below this one are allowed anyway. Absent: 0.',
  },
  quotes_from_dependencies: {
    path: ofPath,
    times_min: 'How many quotations the output must have. Absent: one.',
    chars_min:
      'The least number of characters of a quotation. Shorter texts in quotation marks are not checked. Absent: 12.',
  },
  output_value: {
    path: 'A JSON Pointer (RFC 6901) to the value in the output, which is JSON.',
    equals: 'The value. Absent: it may be any value within the bounds.',
    min: 'The least number. Absent: no limit.',
    max: 'The greatest number. Absent: no limit.',
  },
  files_exist: { paths: 'The paths of the files, relative to the workspace.' },
}

const ofCheck: TextsOf<EvidenceCheck> = {
  field: 'The field of the node that has the requirement. Absent: required_evidence.',
  requirement: 'The requirement as the node has it.',
  status: 'The verdict. not_checked: the requirement is a sentence, which code does not check.',
  detail: 'The verdict in one sentence.',
  rests_on: 'The taskseq of each event from which the verdict was read.',
}

const statePath = 'The path of the value: keys and list indexes with dots between them, or a list of keys.'
const changeTexts: {
  readonly [Action in SharedStateChange['action']]: TextsOf<
    Omit<Extract<SharedStateChange, { action: Action }>, 'action'>
  >
} = {
  set: { path: statePath, value: 'The new value.' },
  increment: { path: statePath, by: 'The number that is added. A missing value counts as 0.' },
  append: {
    path: statePath,
    value: 'The value that becomes the last item of the list. A missing list is made.',
  },
  delete: { path: statePath },
}

const ofLiveDelta: TextsOf<LiveDelta> = {
  run_id: 'The run to which the answer belongs.',
  agent_name: 'The name of the agent.',
  node_id: 'The node to which the run belongs. null: the run belongs to no team.',
  call: 'The number of the call of the model in the run, from 1.',
  offset:
    'The number of characters (UTF-16 units) of the answer before this piece. A gap shows that pieces were lost. 0: the answer starts again.',
  text: 'The piece of the answer.',
}

const ofLiveProgress: TextsOf<LiveProgress> = {
  run_id: 'The run to which the call belongs.',
  agent_name: 'The name of the agent.',
  node_id: 'The node to which the run belongs. null: the run belongs to no team.',
  call_id: 'The id of the call.',
  tool_name: 'The name of the tool.',
  progress: "How far the call is, in a unit of the tool's own. It rises.",
  total: 'What "progress" comes to at the end. null: it is not known.',
  message:
    'What the tool does now, for people: a text of the tool, of at most 200 characters. null: it does not say.',
}

/** Each shared shape with its texts. */
export const shapeTexts: readonly (readonly [schema: z.ZodType, texts: Texts])[] = [
  [usage, ofUsage],
  [failure, ofFailure],
  [toolCall, ofToolCall],
  [nodeOutput, ofNodeOutput],
  [taskRequest, ofTaskRequest],
  [taskOutcome, { ...ofFailedResult, status: 'How the task ended.' }],
  [executionGraph, ofGraph],
  ...executionNode.options.map((each) => [each, nodeTexts[each.shape.kind.value]] as const),
  ...machineRequirement.options.map((each) => [each, requirementTexts[each.shape.kind.value]] as const),
  [evidenceCheck, ofCheck],
  ...sharedStateChange.options.map((each) => [each, changeTexts[each.shape.action.value]] as const),
  [liveDelta, ofLiveDelta],
  [liveProgress, ofLiveProgress],
  [taint, ofTaint],
  [imagePart, ofImage],
  [question, ofQuestion],
  [questionAnswer, ofAnswer],
]
