/* SPDX-License-Identifier: Apache-2.0 */
/* The schema block; see writer/schema.h. */
#include "writer/schema.h"

#include "writer/file.h"
#include "writer/format.h"

#include "writer/poison.h"

enum tfp_loss tfp_schema_store(void)
{
	struct tfp_block_header header = {
		.type = TFP_BLOCK_SCHEMA,
		.codec = TFP_CODEC_LZ4,
		.encoded_bytes = tfp_schema_bytes,
		.raw_bytes = tfp_schema_raw_bytes,
	};

	return tfp_file_seal_apart(&header, tfp_schema_packed);
}
