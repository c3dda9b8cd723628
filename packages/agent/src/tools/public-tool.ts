// What a module of tools imports, and nothing else: a cell loads this entry for each call.
export { z } from 'zod'
export { defineTool, type Tool, type ToolContext, type ToolDefinition, ToolFailure } from './tool.ts'
