-- What a person does in Neovim: opens the file, looks at the finding, takes the first fix, saves.
-- It writes what it saw to the file that SEEN names.
local seen = {}

local function wait(holds, what)
  if not vim.wait(60000, holds, 50) then
    error("Neovim waited in vain for " .. what)
  end
end

local function tell()
  local file = assert(io.open(os.getenv("SEEN"), "w"))
  file:write(vim.fn.json_encode(seen))
  file:close()
end

local function story()
  wait(function() return #vim.diagnostic.get(0) > 0 end, "a finding")
  for _, found in ipairs(vim.diagnostic.get(0)) do
    local end_col = found.end_col
    table.insert(seen, { line = found.lnum + 1, code = found.code, source = found.source, end_col = end_col })
  end
  local params = vim.lsp.util.make_range_params()
  params.range.start.line, params.range["end"].line = seen[1].line - 1, seen[1].line - 1
  params.context = { diagnostics = {} }
  local answers = vim.lsp.buf_request_sync(0, "textDocument/codeAction", params, 60000)
  for id, answer in pairs(answers) do
    local action = answer.result[1]
    seen[1].title = action.title
    vim.lsp.util.apply_workspace_edit(action.edit, vim.lsp.get_client_by_id(id).offset_encoding)
  end
  vim.cmd("write")
  wait(function() return #vim.diagnostic.get(0) == 0 end, "the end of the finding")
end

local fine, why = pcall(story)
if not fine then
  seen = { error = tostring(why) }
end
tell()
vim.cmd("qall!")
