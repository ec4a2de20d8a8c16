Object.defineProperty(exports, Symbol.toStringTag, { value: "Module" });
// schemas/plan.schema.json
var plan_schema_default = JSON.parse("{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"title\":\"Signalbox plan\",\"type\":\"object\",\"properties\":{\"schema\":{\"default\":1,\"type\":\"integer\"},\"rev\":{\"default\":0,\"type\":\"integer\"},\"id\":{\"type\":\"string\",\"pattern\":\"^(?!.*\\\\.\\\\.)(?!.*\\\\.(?:lock)?$)[A-Za-z0-9][A-Za-z0-9._-]{0,99}$\"},\"name\":{\"default\":\"\",\"type\":\"string\"},\"createdAt\":{\"default\":null,\"type\":[\"string\",\"null\"]},\"createdBy\":{\"default\":\"unknown\",\"type\":\"string\"},\"repo\":{\"default\":null,\"type\":[\"string\",\"null\"]},\"workflow\":{\"default\":null,\"type\":[\"string\",\"null\"]},\"agent\":{\"default\":null,\"type\":[\"string\",\"null\"]},\"worktreeRoot\":{\"default\":null,\"type\":[\"string\",\"null\"]},\"base\":{\"default\":null,\"anyOf\":[{\"type\":\"string\",\"pattern\":\"^(?!-|/|refs/|@$|HEAD$)(?!.*(?:\\\\.\\\\.|@\\\\{|//))(?!.*[/.]$)(?!(?:.*/)?\\\\.)(?!.*\\\\.lock(?:/|$))[^\\\\x00-\\\\x20\\\\x7f~^:?*[\\\\\\\\]{1,200}$\"},{\"type\":\"null\"}]},\"concurrency\":{\"default\":null,\"anyOf\":[{\"type\":\"integer\",\"exclusiveMinimum\":0},{\"type\":\"null\"}]},\"stopOnFailure\":{\"default\":false,\"type\":\"boolean\"},\"workspace\":{\"type\":\"string\",\"enum\":[\"own\",\"shared\",\"checkout\"]},\"delaySeconds\":{\"type\":\"number\",\"minimum\":0},\"starts\":{\"type\":\"object\",\"properties\":{\"max\":{\"type\":\"integer\",\"exclusiveMinimum\":0},\"since\":{\"type\":\"string\"}},\"required\":[\"max\",\"since\"]},\"budget\":{\"type\":\"object\",\"properties\":{\"usd\":{\"type\":\"number\",\"minimum\":0},\"tokens\":{\"type\":\"integer\",\"minimum\":0},\"seconds\":{\"type\":\"number\",\"minimum\":0},\"launches\":{\"type\":\"integer\",\"minimum\":0}},\"additionalProperties\":false},\"status\":{\"default\":\"draft\",\"type\":\"string\",\"enum\":[\"draft\",\"active\",\"paused\",\"complete\",\"archived\"]},\"tickets\":{\"default\":[],\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"ticketId\":{\"type\":\"string\",\"pattern\":\"^(?!.*\\\\.\\\\.)(?!.*\\\\.(?:lock)?$)[A-Za-z0-9][A-Za-z0-9._-]{0,99}$\"},\"order\":{\"default\":0,\"type\":\"number\"},\"blockedBy\":{\"default\":[],\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"group\":{\"default\":0,\"type\":\"integer\"},\"paths\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}},\"required\":[\"ticketId\"]}},\"claim\":{\"default\":null,\"anyOf\":[{\"type\":\"object\",\"properties\":{\"token\":{\"type\":\"string\"},\"host\":{\"type\":\"string\"},\"boot\":{\"default\":\"\",\"type\":\"string\"},\"pid\":{\"type\":\"integer\"},\"started\":{\"type\":\"string\"},\"by\":{\"type\":\"string\"},\"renewedAt\":{\"type\":\"string\"},\"agent\":{\"type\":\"object\",\"properties\":{\"pid\":{\"type\":\"integer\"},\"started\":{\"type\":\"string\"}},\"required\":[\"pid\",\"started\"]}},\"required\":[\"token\",\"host\",\"pid\",\"started\",\"by\",\"renewedAt\"]},{\"type\":\"null\"}]},\"pausedBy\":{\"type\":[\"string\",\"null\"]},\"pausedAt\":{\"type\":\"string\"},\"completedAt\":{\"type\":[\"string\",\"null\"]}},\"required\":[\"id\"],\"$defs\":{\"__schema0\":{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"number\"},{\"type\":\"boolean\"},{\"type\":\"null\"},{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/__schema0\"}},{\"type\":\"object\",\"propertyNames\":{\"type\":\"string\"},\"additionalProperties\":{\"$ref\":\"#/$defs/__schema0\"}}]}},\"anyOf\":[{\"properties\":{\"kind\":{\"not\":{}}},\"required\":[]},{\"properties\":{\"kind\":{\"type\":\"string\",\"const\":\"run\"},\"install\":{\"type\":\"boolean\"},\"packageManager\":{\"type\":[\"string\",\"null\"]},\"run\":{\"default\":{},\"type\":\"object\",\"properties\":{\"config\":{\"type\":\"object\",\"properties\":{\"phases\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":[\"spec\",\"testgen\",\"exec\",\"security_review\",\"qa\"]}},\"phaseTimeout\":{\"type\":\"number\"},\"qualityLoop\":{\"default\":false,\"type\":\"boolean\"},\"maxIterations\":{\"type\":\"number\"},\"sequential\":{\"default\":false,\"type\":\"boolean\"},\"chain\":{\"default\":false,\"type\":\"boolean\"},\"qaGate\":{\"default\":false,\"type\":\"boolean\"},\"concurrency\":{\"type\":\"number\"},\"parallel\":{\"default\":false,\"type\":\"boolean\"},\"verbose\":{\"default\":false,\"type\":\"boolean\"},\"quiet\":{\"default\":false,\"type\":\"boolean\"},\"noSmartTests\":{\"default\":false,\"type\":\"boolean\"},\"dryRun\":{\"default\":false,\"type\":\"boolean\"},\"detach\":{\"default\":false,\"type\":\"boolean\"},\"force\":{\"default\":false,\"type\":\"boolean\"},\"retry\":{\"default\":false,\"type\":\"boolean\"},\"agent\":{\"type\":\"string\"},\"base\":{\"type\":\"string\"},\"pr\":{\"default\":false,\"type\":\"boolean\"},\"integrate\":{\"default\":false,\"type\":\"boolean\"},\"phasePolicies\":{\"default\":{},\"type\":\"object\",\"propertyNames\":{\"type\":\"string\",\"enum\":[\"spec\",\"testgen\",\"exec\",\"security_review\",\"qa\"]},\"additionalProperties\":{\"type\":\"object\",\"properties\":{\"model\":{\"type\":\"string\"},\"effort\":{\"type\":\"string\",\"enum\":[\"minimal\",\"low\",\"medium\",\"high\",\"xhigh\",\"max\"]}}}},\"autoDetectPhases\":{\"default\":false,\"type\":\"boolean\"},\"rules\":{\"default\":[],\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"labels\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"phases\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":[\"testgen\",\"security_review\",\"security-review\"]}},\"qualityLoop\":{\"type\":\"boolean\"}},\"required\":[\"labels\"]}}},\"required\":[\"phases\",\"phaseTimeout\",\"maxIterations\",\"concurrency\"]},\"options\":{\"default\":null,\"anyOf\":[{\"type\":\"object\",\"properties\":{},\"additionalProperties\":{}},{\"type\":\"null\"}]},\"log\":{\"default\":null,\"type\":[\"string\",\"null\"]},\"detached\":{\"default\":false,\"type\":\"boolean\"},\"batched\":{\"type\":\"boolean\"},\"manifest\":{\"default\":{\"stack\":null,\"packageManager\":null},\"type\":\"object\",\"properties\":{\"stack\":{\"default\":null,\"type\":[\"string\",\"null\"]},\"packageManager\":{\"type\":[\"string\",\"null\"]}}},\"spentSeconds\":{\"default\":0,\"type\":\"number\"},\"mode\":{\"type\":\"string\",\"enum\":[\"parallel\",\"sequential\",\"chain\"]},\"missing\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"key\":{\"type\":\"string\"},\"on\":{\"type\":\"string\"}},\"required\":[\"key\",\"on\"]}}}}},\"required\":[\"kind\"]},{\"properties\":{\"kind\":{\"type\":\"string\",\"const\":\"spec\"},\"install\":{\"type\":\"boolean\"},\"packageManager\":{\"type\":[\"string\",\"null\"]},\"spec\":{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},\"dir\":{\"type\":\"string\"},\"beside\":{\"type\":\"string\"},\"inTree\":{\"type\":\"string\"},\"tracked\":{\"type\":\"boolean\"},\"files\":{\"type\":\"object\",\"properties\":{\"tasks\":{\"type\":\"string\"},\"others\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}},\"required\":[\"tasks\",\"others\"]},\"list\":{\"type\":\"string\"},\"brought\":{\"type\":\"object\",\"propertyNames\":{\"type\":\"string\"},\"additionalProperties\":{\"type\":\"string\"}},\"text\":{\"type\":\"string\"},\"pending\":{\"type\":\"string\"},\"base\":{\"type\":[\"string\",\"null\"]},\"startedAt\":{\"type\":\"string\"},\"aside\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"schema\":{\"default\":1,\"type\":\"integer\"},\"rev\":{\"default\":0,\"type\":\"integer\"},\"planId\":{\"type\":\"string\",\"pattern\":\"^(?!.*\\\\.\\\\.)(?!.*\\\\.(?:lock)?$)[A-Za-z0-9][A-Za-z0-9._-]{0,99}$\"},\"ticketId\":{\"type\":\"string\",\"pattern\":\"^(?!.*\\\\.\\\\.)(?!.*\\\\.(?:lock)?$)[A-Za-z0-9][A-Za-z0-9._-]{0,99}$\"},\"title\":{\"type\":\"string\"},\"description\":{\"default\":\"\",\"type\":\"string\"},\"acceptanceCriteria\":{\"default\":[],\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"paths\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"linearUrl\":{\"default\":null,\"type\":[\"string\",\"null\"]},\"repo\":{\"default\":null,\"type\":[\"string\",\"null\"]},\"workflow\":{\"default\":null,\"type\":[\"string\",\"null\"]},\"branch\":{\"default\":null,\"anyOf\":[{\"type\":\"string\",\"pattern\":\"^(?!-|/|refs/|@$|HEAD$)(?!.*(?:\\\\.\\\\.|@\\\\{|//))(?!.*[/.]$)(?!(?:.*/)?\\\\.)(?!.*\\\\.lock(?:/|$))[^\\\\x00-\\\\x20\\\\x7f~^:?*[\\\\\\\\]{1,200}$\"},{\"type\":\"null\"}]},\"worktree\":{\"default\":null,\"type\":[\"string\",\"null\"]},\"agent\":{\"default\":null,\"type\":[\"string\",\"null\"]},\"status\":{\"default\":\"queued\",\"type\":\"string\",\"enum\":[\"queued\",\"ready\",\"running\",\"paused\",\"complete\",\"failed\",\"needs_attention\"]},\"hold\":{\"default\":null,\"anyOf\":[{\"type\":\"object\",\"properties\":{\"kind\":{\"type\":\"string\",\"enum\":[\"blocked\",\"poll\",\"limit\",\"backoff\",\"gate\",\"delay\",\"starts\",\"budget\",\"memory\",\"stopped\",\"broken\"]},\"reason\":{\"type\":\"string\"},\"until\":{\"default\":null,\"type\":[\"string\",\"null\"]},\"lock\":{\"type\":\"boolean\"},\"looks\":{\"type\":\"boolean\"},\"goesOnBy\":{\"type\":\"string\"},\"person\":{\"type\":\"boolean\"},\"supersededBy\":{\"type\":\"string\"},\"unpriced\":{\"type\":\"boolean\"}},\"required\":[\"kind\",\"reason\"]},{\"type\":\"null\"}]},\"since\":{\"default\":null,\"type\":[\"string\",\"null\"]},\"currentPhase\":{\"default\":null,\"type\":[\"string\",\"null\"]},\"phaseHistory\":{\"default\":[],\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"phase\":{\"type\":\"string\"},\"visit\":{\"default\":1,\"type\":\"integer\"},\"attempt\":{\"default\":1,\"type\":\"integer\"},\"status\":{\"type\":\"string\",\"enum\":[\"running\",\"success\",\"failure\",\"skipped\",\"interrupted\",\"limit\"]},\"startedAt\":{\"type\":\"string\"},\"completedAt\":{\"default\":null,\"type\":[\"string\",\"null\"]},\"outcome\":{\"default\":null,\"type\":[\"string\",\"null\"]},\"output\":{\"default\":null,\"type\":[\"string\",\"null\"]},\"agent\":{\"default\":null,\"type\":[\"string\",\"null\"]},\"sessionId\":{\"default\":null,\"type\":[\"string\",\"null\"]},\"usage\":{\"default\":null,\"anyOf\":[{\"type\":\"object\",\"properties\":{\"inputTokens\":{\"default\":null,\"type\":[\"number\",\"null\"]},\"outputTokens\":{\"default\":null,\"type\":[\"number\",\"null\"]},\"cacheReadTokens\":{\"default\":null,\"type\":[\"number\",\"null\"]},\"cacheWriteTokens\":{\"default\":null,\"type\":[\"number\",\"null\"]},\"costUsd\":{\"default\":null,\"type\":[\"number\",\"null\"]}}},{\"type\":\"null\"}]},\"error\":{\"default\":null,\"anyOf\":[{\"type\":\"object\",\"properties\":{\"class\":{\"type\":\"string\"},\"message\":{\"type\":\"string\"}},\"required\":[\"class\",\"message\"]},{\"type\":\"null\"}]},\"launches\":{\"type\":\"integer\"},\"checks\":{\"type\":\"integer\"},\"asks\":{\"type\":\"string\"},\"criteria\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"criterion\":{\"type\":\"string\"},\"met\":{\"type\":\"boolean\"},\"evidence\":{\"type\":\"string\"}},\"required\":[\"criterion\",\"met\",\"evidence\"]}},\"note\":{\"type\":\"string\"},\"resetAt\":{\"type\":\"string\"}},\"required\":[\"phase\",\"status\",\"startedAt\"]}},\"context\":{\"default\":{},\"type\":\"object\",\"propertyNames\":{\"type\":\"string\"},\"additionalProperties\":{\"$ref\":\"#/$defs/__schema0\"}},\"retries\":{\"default\":{},\"type\":\"object\",\"propertyNames\":{\"type\":\"string\"},\"additionalProperties\":{\"type\":\"integer\"}},\"visits\":{\"default\":{},\"type\":\"object\",\"propertyNames\":{\"type\":\"string\"},\"additionalProperties\":{\"type\":\"integer\"}},\"tries\":{\"type\":\"object\",\"propertyNames\":{\"type\":\"string\"},\"additionalProperties\":{\"type\":\"integer\"}},\"skipPhases\":{\"default\":[],\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"budget\":{\"type\":\"object\",\"properties\":{\"usd\":{\"type\":\"number\",\"minimum\":0},\"tokens\":{\"type\":\"integer\",\"minimum\":0},\"seconds\":{\"type\":\"number\",\"minimum\":0},\"launches\":{\"type\":\"integer\",\"minimum\":0}},\"additionalProperties\":false},\"goAhead\":{\"type\":\"string\"},\"lookedAt\":{\"type\":\"string\"},\"error\":{\"default\":null,\"type\":[\"string\",\"null\"]},\"base\":{\"default\":null,\"anyOf\":[{\"type\":\"object\",\"properties\":{\"ref\":{\"type\":\"string\"},\"commit\":{\"type\":\"string\"}},\"required\":[\"ref\",\"commit\"]},{\"type\":\"null\"}]},\"workflowHash\":{\"default\":null,\"type\":[\"string\",\"null\"]},\"claim\":{\"default\":null,\"anyOf\":[{\"type\":\"object\",\"properties\":{\"token\":{\"type\":\"string\"},\"host\":{\"type\":\"string\"},\"boot\":{\"default\":\"\",\"type\":\"string\"},\"pid\":{\"type\":\"integer\"},\"started\":{\"type\":\"string\"},\"by\":{\"type\":\"string\"},\"renewedAt\":{\"type\":\"string\"},\"agent\":{\"type\":\"object\",\"properties\":{\"pid\":{\"type\":\"integer\"},\"started\":{\"type\":\"string\"}},\"required\":[\"pid\",\"started\"]}},\"required\":[\"token\",\"host\",\"pid\",\"started\",\"by\",\"renewedAt\"]},{\"type\":\"null\"}]},\"left\":{\"type\":\"object\",\"properties\":{\"head\":{\"type\":\"string\"},\"files\":{\"type\":\"object\",\"propertyNames\":{\"type\":\"string\"},\"additionalProperties\":{\"type\":\"string\"}},\"after\":{\"type\":\"string\"}},\"required\":[\"head\",\"files\"]},\"rewound\":{\"anyOf\":[{\"type\":\"object\",\"properties\":{\"at\":{\"type\":\"string\"},\"ref\":{\"type\":[\"string\",\"null\"]}},\"required\":[\"at\"]},{\"type\":\"null\"}]},\"tip\":{\"type\":[\"string\",\"null\"]},\"unit\":{\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"string\"},\"tasks\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"string\"},\"title\":{\"type\":\"string\"},\"numbered\":{\"type\":\"boolean\"},\"hash\":{\"type\":\"string\"}},\"required\":[\"id\",\"title\",\"numbered\"]}},\"done\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"string\"},\"title\":{\"type\":\"string\"},\"numbered\":{\"type\":\"boolean\"},\"hash\":{\"type\":\"string\"}},\"required\":[\"id\",\"title\",\"numbered\"]}},\"ids\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"leftOut\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"work\":{\"type\":\"string\"},\"context\":{\"type\":\"string\"},\"requirements\":{\"type\":\"string\"},\"design\":{\"type\":\"string\"},\"verify\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"checkpoint\":{\"type\":\"boolean\"},\"together\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"asked\":{\"type\":\"object\",\"propertyNames\":{\"type\":\"string\"},\"additionalProperties\":{\"type\":\"string\"}},\"hash\":{\"type\":\"string\"}},\"required\":[\"id\",\"tasks\",\"ids\",\"work\",\"context\",\"requirements\",\"design\",\"verify\",\"checkpoint\",\"hash\"]},\"retold\":{\"type\":\"string\"}},\"required\":[\"planId\",\"ticketId\",\"title\",\"unit\"]}},\"gone\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"parents\":{\"type\":\"object\",\"propertyNames\":{\"type\":\"string\"},\"additionalProperties\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}},\"unselected\":{\"type\":\"integer\"}},\"required\":[\"name\",\"dir\",\"inTree\",\"tracked\",\"files\",\"text\",\"base\",\"startedAt\"]},\"run\":{\"default\":{},\"type\":\"object\",\"properties\":{\"detached\":{\"default\":false,\"type\":\"boolean\"}}},\"windows\":{\"anyOf\":[{\"type\":\"object\",\"properties\":{\"session\":{\"type\":\"string\"},\"cwd\":{\"type\":\"string\"},\"env\":{\"type\":\"object\",\"properties\":{\"TMUX\":{\"type\":\"string\"},\"TMUX_TMPDIR\":{\"type\":\"string\"}}}},\"required\":[\"session\",\"cwd\",\"env\"]},{\"type\":\"null\"}]},\"shown\":{\"type\":\"object\",\"properties\":{\"tmux\":{\"type\":\"boolean\"},\"session\":{\"type\":[\"string\",\"null\"]}},\"required\":[\"tmux\",\"session\"]},\"ended\":{\"type\":\"object\",\"properties\":{\"at\":{\"type\":\"string\"},\"lines\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}},\"required\":[\"at\",\"lines\"]}},\"required\":[\"kind\",\"spec\"]}]}"), ticket_schema_default = JSON.parse("{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"title\":\"Signalbox ticket\",\"type\":\"object\",\"properties\":{\"schema\":{\"default\":1,\"type\":\"integer\"},\"rev\":{\"default\":0,\"type\":\"integer\"},\"planId\":{\"type\":\"string\",\"pattern\":\"^(?!.*\\\\.\\\\.)(?!.*\\\\.(?:lock)?$)[A-Za-z0-9][A-Za-z0-9._-]{0,99}$\"},\"ticketId\":{\"type\":\"string\",\"pattern\":\"^(?!.*\\\\.\\\\.)(?!.*\\\\.(?:lock)?$)[A-Za-z0-9][A-Za-z0-9._-]{0,99}$\"},\"title\":{\"type\":\"string\"},\"description\":{\"default\":\"\",\"type\":\"string\"},\"acceptanceCriteria\":{\"default\":[],\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"paths\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"linearUrl\":{\"default\":null,\"type\":[\"string\",\"null\"]},\"repo\":{\"default\":null,\"type\":[\"string\",\"null\"]},\"workflow\":{\"default\":null,\"type\":[\"string\",\"null\"]},\"branch\":{\"default\":null,\"anyOf\":[{\"type\":\"string\",\"pattern\":\"^(?!-|/|refs/|@$|HEAD$)(?!.*(?:\\\\.\\\\.|@\\\\{|//))(?!.*[/.]$)(?!(?:.*/)?\\\\.)(?!.*\\\\.lock(?:/|$))[^\\\\x00-\\\\x20\\\\x7f~^:?*[\\\\\\\\]{1,200}$\"},{\"type\":\"null\"}]},\"worktree\":{\"default\":null,\"type\":[\"string\",\"null\"]},\"agent\":{\"default\":null,\"type\":[\"string\",\"null\"]},\"status\":{\"default\":\"queued\",\"type\":\"string\",\"enum\":[\"queued\",\"ready\",\"running\",\"paused\",\"complete\",\"failed\",\"needs_attention\"]},\"hold\":{\"default\":null,\"anyOf\":[{\"type\":\"object\",\"properties\":{\"kind\":{\"type\":\"string\",\"enum\":[\"blocked\",\"poll\",\"limit\",\"backoff\",\"gate\",\"delay\",\"starts\",\"budget\",\"memory\",\"stopped\",\"broken\"]},\"reason\":{\"type\":\"string\"},\"until\":{\"default\":null,\"type\":[\"string\",\"null\"]},\"lock\":{\"type\":\"boolean\"},\"looks\":{\"type\":\"boolean\"},\"goesOnBy\":{\"type\":\"string\"},\"person\":{\"type\":\"boolean\"},\"supersededBy\":{\"type\":\"string\"},\"unpriced\":{\"type\":\"boolean\"}},\"required\":[\"kind\",\"reason\"]},{\"type\":\"null\"}]},\"since\":{\"default\":null,\"type\":[\"string\",\"null\"]},\"currentPhase\":{\"default\":null,\"type\":[\"string\",\"null\"]},\"phaseHistory\":{\"default\":[],\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"phase\":{\"type\":\"string\"},\"visit\":{\"default\":1,\"type\":\"integer\"},\"attempt\":{\"default\":1,\"type\":\"integer\"},\"status\":{\"type\":\"string\",\"enum\":[\"running\",\"success\",\"failure\",\"skipped\",\"interrupted\",\"limit\"]},\"startedAt\":{\"type\":\"string\"},\"completedAt\":{\"default\":null,\"type\":[\"string\",\"null\"]},\"outcome\":{\"default\":null,\"type\":[\"string\",\"null\"]},\"output\":{\"default\":null,\"type\":[\"string\",\"null\"]},\"agent\":{\"default\":null,\"type\":[\"string\",\"null\"]},\"sessionId\":{\"default\":null,\"type\":[\"string\",\"null\"]},\"usage\":{\"default\":null,\"anyOf\":[{\"type\":\"object\",\"properties\":{\"inputTokens\":{\"default\":null,\"type\":[\"number\",\"null\"]},\"outputTokens\":{\"default\":null,\"type\":[\"number\",\"null\"]},\"cacheReadTokens\":{\"default\":null,\"type\":[\"number\",\"null\"]},\"cacheWriteTokens\":{\"default\":null,\"type\":[\"number\",\"null\"]},\"costUsd\":{\"default\":null,\"type\":[\"number\",\"null\"]}}},{\"type\":\"null\"}]},\"error\":{\"default\":null,\"anyOf\":[{\"type\":\"object\",\"properties\":{\"class\":{\"type\":\"string\"},\"message\":{\"type\":\"string\"}},\"required\":[\"class\",\"message\"]},{\"type\":\"null\"}]},\"launches\":{\"type\":\"integer\"},\"checks\":{\"type\":\"integer\"},\"asks\":{\"type\":\"string\"},\"criteria\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"criterion\":{\"type\":\"string\"},\"met\":{\"type\":\"boolean\"},\"evidence\":{\"type\":\"string\"}},\"required\":[\"criterion\",\"met\",\"evidence\"]}},\"note\":{\"type\":\"string\"},\"resetAt\":{\"type\":\"string\"}},\"required\":[\"phase\",\"status\",\"startedAt\"]}},\"context\":{\"default\":{},\"type\":\"object\",\"propertyNames\":{\"type\":\"string\"},\"additionalProperties\":{\"$ref\":\"#/$defs/__schema0\"}},\"retries\":{\"default\":{},\"type\":\"object\",\"propertyNames\":{\"type\":\"string\"},\"additionalProperties\":{\"type\":\"integer\"}},\"visits\":{\"default\":{},\"type\":\"object\",\"propertyNames\":{\"type\":\"string\"},\"additionalProperties\":{\"type\":\"integer\"}},\"tries\":{\"type\":\"object\",\"propertyNames\":{\"type\":\"string\"},\"additionalProperties\":{\"type\":\"integer\"}},\"skipPhases\":{\"default\":[],\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"budget\":{\"type\":\"object\",\"properties\":{\"usd\":{\"type\":\"number\",\"minimum\":0},\"tokens\":{\"type\":\"integer\",\"minimum\":0},\"seconds\":{\"type\":\"number\",\"minimum\":0},\"launches\":{\"type\":\"integer\",\"minimum\":0}},\"additionalProperties\":false},\"goAhead\":{\"type\":\"string\"},\"lookedAt\":{\"type\":\"string\"},\"error\":{\"default\":null,\"type\":[\"string\",\"null\"]},\"base\":{\"default\":null,\"anyOf\":[{\"type\":\"object\",\"properties\":{\"ref\":{\"type\":\"string\"},\"commit\":{\"type\":\"string\"}},\"required\":[\"ref\",\"commit\"]},{\"type\":\"null\"}]},\"workflowHash\":{\"default\":null,\"type\":[\"string\",\"null\"]},\"claim\":{\"default\":null,\"anyOf\":[{\"type\":\"object\",\"properties\":{\"token\":{\"type\":\"string\"},\"host\":{\"type\":\"string\"},\"boot\":{\"default\":\"\",\"type\":\"string\"},\"pid\":{\"type\":\"integer\"},\"started\":{\"type\":\"string\"},\"by\":{\"type\":\"string\"},\"renewedAt\":{\"type\":\"string\"},\"agent\":{\"type\":\"object\",\"properties\":{\"pid\":{\"type\":\"integer\"},\"started\":{\"type\":\"string\"}},\"required\":[\"pid\",\"started\"]}},\"required\":[\"token\",\"host\",\"pid\",\"started\",\"by\",\"renewedAt\"]},{\"type\":\"null\"}]},\"left\":{\"type\":\"object\",\"properties\":{\"head\":{\"type\":\"string\"},\"files\":{\"type\":\"object\",\"propertyNames\":{\"type\":\"string\"},\"additionalProperties\":{\"type\":\"string\"}},\"after\":{\"type\":\"string\"}},\"required\":[\"head\",\"files\"]},\"rewound\":{\"anyOf\":[{\"type\":\"object\",\"properties\":{\"at\":{\"type\":\"string\"},\"ref\":{\"type\":[\"string\",\"null\"]}},\"required\":[\"at\"]},{\"type\":\"null\"}]},\"tip\":{\"type\":[\"string\",\"null\"]}},\"required\":[\"planId\",\"ticketId\",\"title\"],\"$defs\":{\"__schema0\":{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"number\"},{\"type\":\"boolean\"},{\"type\":\"null\"},{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/__schema0\"}},{\"type\":\"object\",\"propertyNames\":{\"type\":\"string\"},\"additionalProperties\":{\"$ref\":\"#/$defs/__schema0\"}}]}},\"anyOf\":[{\"properties\":{\"unit\":{\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"string\"},\"tasks\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"string\"},\"title\":{\"type\":\"string\"},\"numbered\":{\"type\":\"boolean\"},\"hash\":{\"type\":\"string\"}},\"required\":[\"id\",\"title\",\"numbered\"]}},\"done\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"string\"},\"title\":{\"type\":\"string\"},\"numbered\":{\"type\":\"boolean\"},\"hash\":{\"type\":\"string\"}},\"required\":[\"id\",\"title\",\"numbered\"]}},\"ids\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"leftOut\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"work\":{\"type\":\"string\"},\"context\":{\"type\":\"string\"},\"requirements\":{\"type\":\"string\"},\"design\":{\"type\":\"string\"},\"verify\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"checkpoint\":{\"type\":\"boolean\"},\"together\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"asked\":{\"type\":\"object\",\"propertyNames\":{\"type\":\"string\"},\"additionalProperties\":{\"type\":\"string\"}},\"hash\":{\"type\":\"string\"}},\"required\":[\"id\",\"tasks\",\"ids\",\"work\",\"context\",\"requirements\",\"design\",\"verify\",\"checkpoint\",\"hash\"]},\"retold\":{\"type\":\"string\"}},\"required\":[\"unit\"]},{\"properties\":{\"source\":{\"type\":\"object\",\"properties\":{\"key\":{\"type\":\"string\"},\"number\":{\"anyOf\":[{\"type\":\"integer\",\"exclusiveMinimum\":0},{\"type\":\"null\"}]},\"labels\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"url\":{\"type\":[\"string\",\"null\"]},\"repository\":{\"type\":[\"string\",\"null\"]},\"already\":{\"type\":\"boolean\"}}},\"supersedes\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"supersededBy\":{\"type\":\"string\"}},\"required\":[\"source\"]},{\"properties\":{},\"required\":[]}]}");
// src/model/extra-fields.ts
/** Holds what people added to an object of a file themselves. Spreading the object keeps it; JSON.stringify leaves it out. */
const EXTRA = Symbol("extra fields");
/** Notes in `known` the fields `extra` of `raw`. */
function setAside(known, order, raw, extra) {
	let fields = Object.fromEntries(extra.map((key) => [key, raw[key]]));
	return Object.assign(known, { [EXTRA]: {
		order,
		fields
	} });
}
// src/model/ids.ts
const ID = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
/** Says why a text cannot be an id, or undefined when it can. Ids become file names, so the rule is strict. */
function idProblem(text) {
	if (text.length === 0) return "is empty";
	if (text.length > 100) return `is ${text.length} characters long; at most 100 are allowed`;
	if (!ID.test(text)) return "may only hold letters, digits, \".\", \"_\" and \"-\", and must start with a letter or digit";
	if (text.includes("..")) return "must not contain \"..\"";
	if (text.endsWith(".lock") || text.endsWith(".")) return "must not end in \".lock\" or \".\"";
}
/** Says why a text cannot be a branch name, by git's own ref rules plus "no leading dash". */
function branchProblem(name) {
	if (name.length === 0) return "is empty";
	if (new TextEncoder().encode(name).length > 200) return "is longer than 200 bytes";
	if (name.startsWith("-")) return "starts with \"-\"";
	if (/[\x00-\x20\x7f~^:?*[\\]/.test(name)) return "contains a space or one of ~ ^ : ? * [ \\";
	if (name.includes("..") || name.includes("@{") || name.includes("//")) return "contains \"..\", \"@{\" or \"//\"";
	if (name.startsWith("refs/")) return "is a full ref name; leave out \"refs/heads/\"";
	if (name === "@" || name === "HEAD" || name.startsWith("/") || name.endsWith("/") || name.endsWith(".")) return "is not a branch name git accepts";
	if (name.split("/").some((part) => part.startsWith(".") || part.endsWith(".lock"))) return "has a part that starts with \".\" or ends in \".lock\"";
}
// src/store/quick.ts
const NO = Symbol("not plain"), never = () => NO;
/**
* Reads a ticket that is plainly well-formed, some twenty times faster than its zod schema and without loading zod: people
* notice that in `status` of a thousand tickets. The checks come from the JSON Schemas that `npm run generate` makes of the
* zod schemas. Undefined means no more than "ask the zod schema".
*/
function quickTicket(data) {
	if (isObject(data)) return read("ticket", data.unit === void 0 ? data.source === void 0 ? 2 : 1 : 0, data);
}
function quickPlan(data) {
	if (isObject(data)) return read("plan", [
		void 0,
		"run",
		"spec"
	].indexOf(data.kind), data);
}
const SCHEMAS = {
	plan: plan_schema_default,
	ticket: ticket_schema_default
}, readers = {
	plan: [],
	ticket: []
};
function read(name, member, data) {
	readers[name][member] ??= memberReader(SCHEMAS[name], member);
	let found = readers[name][member](data);
	return found === NO ? void 0 : found;
}
function memberReader({ properties, required, anyOf = [] }, member) {
	let more = anyOf[member];
	return more ? object({
		properties: {
			...properties,
			...more.properties
		},
		required: [...required, ...more.required]
	}) : never;
}
function compile(schema) {
	if (schema.$ref !== void 0) return when(isJson);
	if (Array.isArray(schema.anyOf)) return orNull(schema.anyOf);
	if (Array.isArray(schema.type)) return orNull(schema.type.map((type) => ({
		...schema,
		type
	})));
	if (schema.enum) return when((value) => schema.enum.includes(value));
	if ("const" in schema) return when((value) => value === schema.const);
	switch (schema.type) {
		case "object": return schema.additionalProperties ? record(schema) : object(schema);
		case "array": return array(compile(schema.items));
		case "string": return schema.pattern === void 0 ? text : patterned(String(schema.pattern));
		case "integer":
		case "number": return when(numberCheck(schema));
		case "boolean": return when((value) => typeof value == "boolean");
		case "null": return when((value) => value === null);
		default: return Object.keys(schema).length === 0 ? (value) => value : never;
	}
}
function when(fits) {
	return (value) => fits(value) ? value : NO;
}
/** The only unions inside these objects are of something and null. */
function orNull([schema, none]) {
	if (!schema || none?.type !== "null") return never;
	let read = compile(schema);
	return (value) => value === null ? null : read(value);
}
function isJson(value) {
	return typeof value != "object" || !value ? typeof value != "number" || Number.isFinite(value) : Array.isArray(value) ? value.every(isJson) : isObject(value) && Object.values(value).every(isJson);
}
const text = (value) => typeof value == "string" ? value : NO;
function patterned(pattern) {
	let problem = {
		"^(?!.*\\.\\.)(?!.*\\.(?:lock)?$)[A-Za-z0-9][A-Za-z0-9._-]{0,99}$": idProblem,
		"^(?!-|/|refs/|@$|HEAD$)(?!.*(?:\\.\\.|@\\{|//))(?!.*[/.]$)(?!(?:.*/)?\\.)(?!.*\\.lock(?:/|$))[^\\x00-\\x20\\x7f~^:?*[\\\\]{1,200}$": branchProblem
	}[pattern];
	return problem ? (value) => typeof value == "string" && problem(value) === void 0 ? value : NO : never;
}
function numberCheck({ type, minimum = -Infinity, exclusiveMinimum = -Infinity }) {
	let isOne = type === "integer" ? Number.isSafeInteger : Number.isFinite, [least, above] = [Number(minimum), Number(exclusiveMinimum)];
	return (value) => isOne(value) && value >= least && value > above;
}
function array(read) {
	return (value) => {
		if (!Array.isArray(value)) return NO;
		if (value.length === 0) return [];
		let found = value.map(read);
		return found.includes(NO) ? NO : found;
	};
}
function record(schema) {
	let read = compile(schema.additionalProperties), isKey = compile(schema.propertyNames ?? {});
	return (value) => {
		if (!isObject(value)) return NO;
		let found = {};
		for (let key of Object.keys(value)) if (found[key] = isKey(key) === NO ? NO : read(value[key]), found[key] === NO) return NO;
		return found;
	};
}
function object(schema) {
	let required = schema.required ?? [], properties = Object.entries(schema.properties), fields = Object.assign(Object.create(null), mapValues(properties, compile)), presets = properties.filter(([key, field]) => field.default !== void 0 || required.includes(key)), template = JSON.parse(JSON.stringify(mapValues(presets, (field) => field.default ?? null))), nested = Object.keys(template).filter((key) => template[key] instanceof Object);
	return (value) => {
		if (!isObject(value)) return NO;
		let result = { ...template }, keys = Object.keys(value), hasExtra = !1;
		for (let at = 0; at < keys.length; at += 1) {
			let key = keys[at], read = fields[key];
			if (read) {
				let field = read(value[key]);
				if (field === NO) return NO;
				result[key] = field;
			} else hasExtra = !0;
		}
		for (let at = 0; at < required.length; at += 1) if (value[required[at]] === void 0) return NO;
		for (let at = 0; at < nested.length; at += 1) {
			let key = nested[at];
			result[key] === template[key] && (result[key] = fields[key]?.(template[key]));
		}
		return hasExtra ? schema.additionalProperties === !1 ? NO : withoutExtra(result, value, fields) : result;
	};
}
function mapValues(entries, change) {
	return Object.fromEntries(entries.map(([key, field]) => [key, change(field)]));
}
function withoutExtra(result, value, known) {
	let own = Object.entries(result).filter(([key]) => known[key]), order = Object.keys(value);
	return setAside(Object.fromEntries(own), order, value, order.filter((key) => !known[key]));
}
/** Data of ours has no `__proto__`; what becomes of it is for the zod schema to say. */
function isObject(value) {
	return typeof value == "object" && !!value && !Array.isArray(value) && !Object.hasOwn(value, "__proto__");
}
exports.quickPlan = quickPlan, exports.quickTicket = quickTicket;
