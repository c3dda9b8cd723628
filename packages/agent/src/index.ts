export { isReservedTool } from './tools/client-tool.ts'
export { workerMessage } from './context/context-builder.ts'
export { definitionsOf, loadDefinitions } from './definitions/load-definitions.ts'
export { brokenFile, type LoadDiagnostic } from './load-diagnostic.ts'
export { runAgentLoop } from './loop/agent-loop.ts'
export type { LoopServices } from './loop/loop-services.ts'
export { type LoopEvent } from './loop/loop-machine.ts'
export { LoopDropped, wasDropped } from './loop/think.ts'
export {
  type Appended,
  type ApprovalDecision,
  type AskedOfPerson,
  type CallNeeds,
  type Granted,
  type ClientAnswered,
  type QuestionSettled,
  type LoopEnd,
  type LoopHost,
  type LoopPart,
  loopEndOf,
  type LoopSpec,
  type Steer,
  type PauseRequest,
  type TeamRefusal,
  type TeamRunResult,
  type ThreadWork,
} from './loop/loop-spec.ts'
export {
  type CachedBeginning,
  cancelledCall,
  type ChatAnswer,
  type ChatProvider,
  type ChatRequest,
  type OutputForm,
  type PaidAnswer,
  ProviderError,
  type RefusedTool,
  type ToolSchema,
  type TurnWait,
} from './provider/chat-provider.ts'
export { brokenOffUsage, inputTokensMax, textsTokensMax } from './provider/call-bound.ts'
export { finishMeaning } from './provider/finish-reason.ts'
export {
  type AskedProviders,
  embedAll,
  type Embedded,
  type EmbeddingProvider,
  onlyProvider,
  type ProviderBundle,
} from './provider/provider-bundle.ts'
export { type AgentProfile, type AgentProfileInput, readProfile } from './profile/agent-profile.ts'
export {
  type CatalogEntry,
  catalogEntries,
  defaultInventory,
  type Inventory,
  type InventoryDiagnostic,
  resolveInventory,
  type ToolCatalog,
} from './profile/inventory.ts'
export { callImages } from './images/call-images.ts'
export { imageOf, imagePartOf, type ImageContent, readWorkspaceImage } from './images/image-file.ts'
export { loadProfiles } from './profile/load-profiles.ts'
export { type AgentTexts, withTexts, withWorkspaceSkills } from './texts/agent-texts.ts'
export { stampOfJson, stampOfSkills, workspaceSkills } from './texts/workspace-skills.ts'
export { isBuiltin, loadPlacedSkills } from './texts/placed-skills.ts'
export { toolNameAtProvider, toolNameCollision, toolNamesFromProvider } from './provider/tool-name.ts'
export { type AssembleOptions, type SkillSelection } from './skills/skill-assembler.ts'
export {
  checkSkill,
  type SkillCheck,
  type SkillProblem,
  type SkillSurroundings,
} from './skills/check-skill.ts'
export { type LoadedSkills, loadSkills, parseSkill } from './skills/load-skills.ts'
export type { GuidanceAgent, Skill, WorkflowGuidance } from './skills/skill.ts'
export { type SkillPlace, skillPlaces } from './skills/skill-places.ts'
export { listSupportFiles, readSupportFile, type SupportFiles } from './skills/support-files.ts'
export { defaultEgressRules, type EgressRules } from './taint/egress-rules.ts'
export { type Effects, type Reads, type ToolKind, toolKindOf } from './taint/tool-kind.ts'
export { isFullHeap } from './tools/cell/full-heap.ts'
export { type CallScope, callScope } from './tools/call-scope.ts'
export { callProgress } from './loop/make-call.ts'
export { executeTool, type ToolResult } from './tools/execute-tool.ts'
export {
  type AskPerson,
  defineTool,
  type ExternalCall,
  type ExternalImage,
  type ExternalResult,
  type Isolation,
  type SharedStateAccess,
  type Tool,
  type ReadSource,
  type ToolContext,
  type ToolDefinition,
  ToolFailure,
  ToolInputError,
  type ToolProgress,
} from './tools/tool.ts'
export { type CallArguments, readCallArguments } from './tools/call-arguments.ts'
export { type LoadedTools, loadTools } from './tools/load-tools.ts'
export {
  type CallDescription,
  type ExternalTool,
  describedTool,
  externalTool,
  type ExternalTools,
} from './tools/external-tools.ts'
export { addedToolNames } from './tools/further-tools.ts'
export type { SubjectKind } from './tools/judge-subject.ts'
export {
  permissionOf,
  permissionOnSubject,
  type Permission,
  type PermissionDecision,
  type PermissionRule,
  rulesAbout,
  rulesOf,
  type SubjectPermission,
} from './tools/permission.ts'
export { type RuledTools, type RuleFault, ruleFaults } from './tools/rule-faults.ts'
// Tools use this zod for `defineTool`, because a schema of another major version does not work.
export { z } from 'zod'
export { unlessAborted } from './loop/unless-aborted.ts'
